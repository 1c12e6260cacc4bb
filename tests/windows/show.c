/* Says which backend.dll Windows loaded with it and which plugin.dll LoadLibrary finds, each with the
 * place it was loaded from. With two arguments it then makes the first file, to say that it lives, and
 * waits for the second. ci/windows-overlay builds it with mingw. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <windows.h>

__declspec(dllimport) const char *backend(void);

static void say(const char *name, const char *version, HMODULE module) {
    wchar_t wide[4096];
    char path[4096];
    GetModuleFileNameW(module, wide, 4096);
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, sizeof path, NULL, NULL);
    printf("%s %s from %s\n", name, version, path);
}

int wmain(int count, wchar_t **arguments) {
    _setmode(1, _O_BINARY);
    say("backend", backend(), GetModuleHandleW(L"backend.dll"));
    HMODULE plugin = LoadLibraryW(L"plugin.dll");
    if (plugin) {
        const char *(*version)(void) = (const char *(*)(void))(void *)GetProcAddress(plugin, "plugin");
        say("plugin", version ? version() : "without a version", plugin);
    } else {
        printf("plugin missing\n");
    }
    fflush(stdout);
    if (count < 3) return 0;
    HANDLE alive = CreateFileW(arguments[1], GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
    if (alive == INVALID_HANDLE_VALUE) return 98;
    CloseHandle(alive);
    for (int tries = 0; tries < 6000; tries++) {
        if (GetFileAttributesW(arguments[2]) != INVALID_FILE_ATTRIBUTES) return 0;
        Sleep(10);
    }
    return 97;
}
