/* Prints each of its arguments on a line of its own in UTF-8, between brackets, and ends with the
 * status that the first names. ci/windows-end-to-end builds it with mingw. */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <windows.h>

int wmain(int count, wchar_t **arguments) {
    char text[4096];
    _setmode(1, _O_BINARY);
    for (int at = 1; at < count; at++) {
        if (!WideCharToMultiByte(CP_UTF8, 0, arguments[at], -1, text, sizeof text, NULL, NULL))
            return 99;
        printf("[%s]\n", text);
    }
    return count > 1 ? (int)wcstoul(arguments[1], NULL, 0) : 0;
}
