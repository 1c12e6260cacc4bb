/* Prints the variables it was started with, in UTF-8, and once more one by one by name, as programs read
 * them. With two arguments it then makes the first file, to say that it lives, and waits for the second.
 * ci/windows-end-to-end builds it with mingw. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <windows.h>

static void say(const wchar_t *what, const wchar_t *wide) {
    static char text[65536];
    if (!WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, sizeof text, NULL, NULL)) return;
    printf("%ls%s\n", what, text);
}

int wmain(int count, wchar_t **arguments) {
    static wchar_t value[32768];
    _setmode(1, _O_BINARY);
    wchar_t *block = GetEnvironmentStringsW();
    for (wchar_t *at = block, *next; at && *at; at = next) {
        next = at + wcslen(at) + 1;
        say(L"block ", at);
        wchar_t *equals = wcschr(at + 1, L'=');
        if (!equals) return 96;
        *equals = 0;
        SetLastError(0);
        if (!GetEnvironmentVariableW(at, value, 32768) && GetLastError()) return 95;
        if (wcscmp(value, equals + 1) && *(equals + 1)) say(L"differs ", at);
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
