/* Says that it runs and waits for Ctrl-C. With an argument it answers that itself, and ends with the status
 * that the argument names; without one it is ended by Windows. ci/windows-console builds it with mingw. */
#include <stdio.h>
#include <windows.h>

static HANDLE told;

static BOOL WINAPI answer(DWORD event) {
    if (event != CTRL_C_EVENT) return FALSE;
    SetEvent(told);
    return TRUE;
}

int wmain(int count, wchar_t **arguments) {
    told = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (count > 1 && !SetConsoleCtrlHandler(answer, TRUE)) return 98;
    printf("it runs\n");
    fflush(stdout);
    if (WaitForSingleObject(told, 60000) != WAIT_OBJECT_0) return 97;
    printf("it was told\n");
    return (int)wcstoul(arguments[1], NULL, 0);
}
