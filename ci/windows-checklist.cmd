@echo off
rem What only a real Windows shows, in about five minutes. Needs Windows 10 1809 or later and no admin
rem rights; run it from an ordinary Command Prompt, in a clone of drystone:
rem
rem     ci\windows-checklist.cmd path\to\drystone.exe [directory on another drive, such as a Dev Drive]
rem
rem Each line says PASS, FAIL or SKIP and what was looked at. It ends with a count, and with status 1
rem where something failed. Everything it makes lies in one directory below %TEMP%, which it removes.
setlocal enableextensions disabledelayedexpansion
set passed=0
set failed=0
set skipped=0
if "%~1"=="" goto usage
if not exist "%~1" goto usage
set "exe=%~f1"
set other=
if not "%~2"=="" set "other=%~f2"
set "quickstart=%~dp0..\examples\quickstart"
if not exist "%quickstart%\env.kdl" goto usage
for %%t in ("%TEMP%\.") do set "work=%%~ft\drystone checklist é %RANDOM%"
set "project=%work%\the project"
set "store=%work%\the store"
set "log=%work%\log.txt"
set part=
set "NO_COLOR="
set "DRYSTONE_STORE="
set ps=
for /f "delims=" %%l in ('powershell -NoProfile -Command "'works'" 2^>nul') do set "ps=%%l"
mkdir "%work%" || goto usage
call :copy_quickstart "%project%"

echo.
echo The program
call :rights
"%exe%" --version >"%log%" 2>&1
call :says %errorlevel% 0 "drystone " "it starts and says its version"
copy "%exe%" "%work%\setup update install.exe" >nul
"%work%\setup update install.exe" --version >"%log%" 2>&1
call :says %errorlevel% 0 "drystone " "it asks for no admin rights, whatever the file is called"
"%exe%" run --no-such-option >"%log%" 2>&1
call :ends %errorlevel% 2 "wrong usage ends with status 2"
call :no_escapes

echo.
echo Build and run, in a directory with spaces and letters outside of ASCII
call :drystone lock --check
call :ends %errorlevel% 0 "the lock that is in the repository fits on Windows"
call :drystone run hello
call :says %errorlevel% 0 "Good morning" "the quickstart is built and run"
call :drystone run hello -- "two words" "a-b"
call :says %errorlevel% 0 "two words" "arguments arrive"
call :drystone exec -- cmd /c exit -1073741515
call :ends %errorlevel% -1073741515 "an exit status keeps its 32 bits (0xC0000135: a DLL was not found)"
call :own_application
call :drystone lock
call :ends %errorlevel% 0 "an application with files of its own is locked"
call :drystone build
call :ends %errorlevel% 0 "and built"
call :drystone run waiter -- 1 "%work%\here.txt"
call :ends %errorlevel% 0 "and run"
call :exists "%work%\here.txt" "it wrote the file it was told to"

echo.
echo Where things are
call :local_data
call :links
dir /al /s /b "%work%" >"%log%" 2>nul
if errorlevel 1 (call :pass "no symlink and no junction was made") else (call :fail "no symlink and no junction was made")

echo.
echo What was stored is protected
call :protection
call :missing_file
call :held_open

echo.
echo Programs that run
call :running
call :ends_with_the_run
call :detached
call :interrupted

echo.
echo Long paths and other drives
call :long_paths
call :other_drive
call :one_drive

echo.
echo At the end
call :drystone gc
call :ends %errorlevel% 0 "gc"
call :drystone store verify
call :ends %errorlevel% 0 "the store is whole"
call :skip "an error is drawn in colour" "look at the next lines: red, and no [31m in them"
"%exe%" --project "%work%\nowhere" build

rem Not by rmdir: it cannot remove long paths, and some take the prefix for long ones for nothing.
if "%ps%"=="works" powershell -NoProfile -Command "[IO.Directory]::Delete('\\?\' + $env:work, $true)" 2>nul
if exist "%work%" echo It leaves "%work%" behind: remove it by hand.
echo.
echo %passed% passed, %failed% failed, %skipped% skipped
if not %failed%==0 exit /b 1
exit /b 0

:usage
echo usage: %~nx0 path\to\drystone.exe [directory on another drive]
echo It lies in a clone of drystone, beside its examples.
exit /b 2

rem ---- How a line is said ---------------------------------------------------------------------------

:pass
set /a passed+=1
echo   PASS  %~1
exit /b 0

:fail
set /a failed+=1
echo   FAIL  %~1
if exist "%log%" type "%log%"
exit /b 0

:skip
set /a skipped+=1
echo   SKIP  %~1: %~2
exit /b 0

rem ends STATUS WANTED "what": the last command ended with this status.
:ends
if "%~1"=="%~2" (call :pass "%~3") else (call :fail "%~3 - status %~1 instead of %~2")
exit /b 0

rem says STATUS WANTED "text" "what": and it said this.
:says
if not "%~1"=="%~2" (call :fail "%~4 - status %~1 instead of %~2" & exit /b 0)
find "%~3" "%log%" >nul
if errorlevel 1 (call :fail "%~4 - it does not say %~3") else (call :pass "%~4")
exit /b 0

:exists
if exist "%~1" (call :pass "%~2") else (call :fail "%~2 - there is no %~1")
exit /b 0

rem refused FILE "what": nothing can be added to it.
:refused
2>nul (>>"%~1" echo x) && (call :fail "%~2") || (call :pass "%~2")
exit /b 0

rem ---- What is done ---------------------------------------------------------------------------------

:drystone
"%exe%" --project "%project%" --store "%store%" %* >"%log%" 2>&1
exit /b %errorlevel%

rem wait SECONDS, about.
:wait
ping -n %1 127.0.0.1 >nul
exit /b 0

:copy_quickstart
mkdir "%~1\archives"
mkdir "%~1\lockfiles"
copy "%quickstart%\archives\*" "%~1\archives" >nul
copy "%quickstart%\lockfiles\*" "%~1\lockfiles" >nul
copy "%quickstart%\env.kdl" "%~1\env.kdl" >nul
exit /b 0

rem High integrity is that of a program which was started as administrator.
:rights
whoami /groups >"%log%" 2>nul
find "S-1-16-" "%log%" >nul
if errorlevel 1 (call :skip "this window has no admin rights" "whoami does not say" & exit /b 0)
find "S-1-16-12288" "%log%" >nul
if errorlevel 1 (call :pass "this window has no admin rights") else (call :fail "this window has admin rights: run it from an ordinary Command Prompt")
exit /b 0

:no_escapes
if not "%ps%"=="works" (call :skip "output into a file has no colours" "there is no powershell" & exit /b 0)
"%exe%" --project "%work%\nowhere" build >"%log%" 2>&1
powershell -NoProfile -Command "if ((Get-Content -Raw -LiteralPath $env:log).Contains([string][char]27)) { exit 1 }"
if errorlevel 1 (call :fail "output into a file has no colours") else (call :pass "output into a file has no colours")
exit /b 0

rem A batch file that waits and then writes, a program that waits, and a part that is only there.
:own_application
mkdir "%project%\app"
>"%project%\app\wait.cmd" echo @ping -n %%1 127.0.0.1 ^>nul
>>"%project%\app\wait.cmd" echo @if not "%%~2"=="" echo done^> %%2
copy "%SystemRoot%\System32\ping.exe" "%project%\app\waiting.exe" >nul
>"%project%\app\part.dll" echo a part of the application that the checklist takes away to see whether anybody notices that
>>"%project%\env.kdl" echo application "waiter" { in "quickstart"; files "app"; program "wait.cmd"; }
>>"%project%\env.kdl" echo application "waiting" { in "quickstart"; files "app"; program "waiting.exe"; }
for %%f in ("%project%\app\part.dll") do set "part_size=%%~zf"
exit /b 0

rem The content of part.dll in the store: the one of its size.
:find_part
if defined part exit /b 0
for /r "%store%\blobs" %%f in (*) do if "%%~zf"=="%part_size%" set "part=%%f"
exit /b 0

:local_data
setlocal
set "LOCALAPPDATA=%work%\local data"
mkdir "%LOCALAPPDATA%"
"%exe%" --project "%project%" build >"%log%" 2>&1
call :ends %errorlevel% 0 "without --store, the store of the user is made"
call :exists "%LOCALAPPDATA%\drystone\store\format" "it lies in LOCALAPPDATA\drystone\store"
endlocal & set passed=%passed%& set failed=%failed%& set skipped=%skipped%
exit /b 0

:links
call :find_part
if not defined part (call :fail "a file of the application is in the store" & exit /b 0)
call :pass "a file of the application is in the store"
fsutil hardlink list "%part%" >"%log%" 2>nul
if errorlevel 1 (call :skip "it is hard-linked, not copied" "fsutil hardlink list does not work here" & exit /b 0)
find "\runtimes\" "%log%" >nul
if errorlevel 1 (call :fail "it is hard-linked, not copied") else (call :pass "it is hard-linked, not copied")
exit /b 0

rem Rights belong to the file and not to the name: what removes one name must not open the others.
:protection
call :find_part
if not defined part (call :fail "the content of part.dll is in the store" & exit /b 0)
call :refused "%part%" "writing to a stored file is refused"
set link=
for /r "%store%\runtimes" %%f in (part.dll) do if exist "%%f" set "link=%%f"
if not defined link (call :fail "a runtime directory holds part.dll" & exit /b 0)
call :refused "%link%" "writing to it through a runtime directory is refused"
rem Wine keeps the rule against writing as the read-only attribute, and its del then refuses.
if exist "%SystemRoot%\System32\winepath.exe" (call :skip "its name there can be deleted, by no attribute hindered" "this is Wine" & exit /b 0)
for %%f in ("%part%") do set "attributes=%%~af"
if "%attributes:~1,1%"=="r" (call :fail "stored files are not read-only by attribute") else (call :pass "stored files are not read-only by attribute")
del "%link%"
if exist "%link%" (call :fail "a name in a runtime directory can be deleted") else (call :pass "a name in a runtime directory can be deleted")
call :refused "%part%" "and the stored file is still protected"
exit /b 0

rem What antivirus software does when it puts a file into quarantine.
:missing_file
call :find_part
del /f "%part%"
call :drystone run waiter -- 1
set status=%errorlevel%
find "part.dll" "%log%" >nul
if errorlevel 1 set status=0
if "%status%"=="0" (call :fail "a file that vanished is named before anything runs") else (call :pass "a file that vanished is named before anything runs")
call :drystone store verify
call :ends %errorlevel% 1 "store verify finds that it is gone"
call :drystone build
call :ends %errorlevel% 0 "build brings it back"
call :drystone run waiter -- 1
call :ends %errorlevel% 0 "and the application runs again"
exit /b 0

:held_open
if not "%ps%"=="works" (call :skip "a file that somebody holds open is reported" "there is no powershell" & exit /b 0)
call :find_part
start "" /b powershell -NoProfile -Command "$f = [IO.File]::Open($env:part, 'Open', 'Read', 'None'); Start-Sleep 60; $f.Close()"
call :wait 6
call :drystone store verify
find /i "open" "%log%" >nul
if errorlevel 1 (call :fail "store verify says what somebody holds open") else (call :pass "store verify says what somebody holds open")
call :drystone gc
call :ends %errorlevel% 0 "gc goes on past it"
call :wait 61
call :drystone store verify
call :ends %errorlevel% 0 "once it is closed, the store is whole"
exit /b 0

:running
start "" /b "%exe%" --project "%project%" --store "%store%" run --keep long waiting -- -n 12 127.0.0.1 >nul 2>&1
call :wait 5
set running=
for /r "%store%\runtimes" %%f in (waiting.exe) do if exist "%%f" call :take_running "%%f"
if not defined running (call :fail "a program runs in its runtime directory" & exit /b 0)
del "%running%" >nul 2>nul
call :exists "%running%" "the file of a running program cannot be deleted"
call :drystone rollback
call :ends %errorlevel% 0 "rollback works while it runs"
call :drystone gc
call :ends %errorlevel% 0 "gc leaves alone what runs"
call :exists "%running%" "its directory is still there"
call :drystone rollback --to 2
call :ends %errorlevel% 0 "and forth"
call :wait 12
exit /b 0

rem Both applications have all files: it runs where the directory is that of "waiting".
:take_running
set "found=%~1"
if not "%found:\waiting\=%"=="%found%" set "running=%found%"
exit /b 0

rem Killing drystone ends what it started: it is in a job.
:ends_with_the_run
copy "%exe%" "%work%\drystone-to-kill.exe" >nul
start "" /b "%work%\drystone-to-kill.exe" --project "%project%" --store "%store%" run waiter -- 8 "%work%\outlived.txt" >nul 2>&1
call :wait 4
taskkill /f /im drystone-to-kill.exe >"%log%" 2>&1
if errorlevel 1 (call :fail "the run can be killed" & exit /b 0)
call :wait 10
if exist "%work%\outlived.txt" (call :fail "what a killed run had started ended with it") else (call :pass "what a killed run had started ended with it")
exit /b 0

:detached
call :drystone run --detach waiter -- 5 "%work%\detached.txt"
set status=%errorlevel%
call :ends %status% 0 "run --detach comes back at once"
if not "%status%"=="0" exit /b 0
if exist "%work%\detached.txt" call :fail "run --detach does not wait"
call :wait 9
call :exists "%work%\detached.txt" "and the program goes on"
exit /b 0

rem Ctrl-C in a console of its own, so that this one goes on. A quote cannot stand within an argument of
rem powershell: $q is one.
:interrupted
if not "%ps%"=="works" (call :skip "Ctrl-C reaches the program and ends the run" "there is no powershell" & exit /b 0)
powershell -NoProfile -Command "$q = [string][char]34; $import = '[DllImport(' + $q + 'kernel32' + $q + ')] public static extern bool '; $k = Add-Type -PassThru -Name Console -Namespace Checklist -MemberDefinition ($import + 'FreeConsole(); ' + $import + 'AttachConsole(uint p); ' + $import + 'SetConsoleCtrlHandler(System.IntPtr h, bool a); ' + $import + 'GenerateConsoleCtrlEvent(uint e, uint g);'); $a = '--project ' + $q + $env:project + $q + ' --store ' + $q + $env:store + $q + ' run waiting -- -n 60 127.0.0.1'; $p = Start-Process -FilePath $env:exe -ArgumentList $a -WindowStyle Minimized -PassThru; Start-Sleep 5; [void]$k::FreeConsole(); [void]$k::AttachConsole($p.Id); [void]$k::SetConsoleCtrlHandler([IntPtr]::Zero, $true); [void]$k::GenerateConsoleCtrlEvent(0, 0); if ($p.WaitForExit(10000)) { exit 0 }; $p.Kill(); exit 1" >"%log%" 2>&1
call :ends %errorlevel% 0 "Ctrl-C reaches the program and ends the run"
exit /b 0

:long_paths
set "deep=%work%\one of four directories with names of about sixty letters 1\one of four directories with names of about sixty letters 2\one of four directories with names of about sixty letters 3\one of four directories with names of about sixty letters 4"
call :deeply init
call :ends %errorlevel% 0 "a project is made at a path of more than 260 characters"
call :deeply lock
call :ends %errorlevel% 0 "and locked"
call :deeply build
call :ends %errorlevel% 0 "and built into a store there"
call :deeply store verify
call :ends %errorlevel% 0 "which is whole"
call :deeply gc
call :ends %errorlevel% 0 "and cleaned"
"%exe%" --project "%project%" --store "%deep%\store" build >"%log%" 2>&1
call :says %errorlevel% 1 "UTF-16 units" "what Windows could not start there is refused in words"
exit /b 0

:deeply
"%exe%" --project "%deep%\project" --store "%deep%\store" %* >"%log%" 2>&1
exit /b %errorlevel%

:other_drive
if "%other%"=="" (call :skip "a store on another drive, or on a Dev Drive" "name a directory there as the second argument" & exit /b 0)
set "there=%other%\drystone checklist %RANDOM%"
"%exe%" --project "%project%" --store "%there%" run hello >"%log%" 2>&1
call :says %errorlevel% 0 "Good" "a store on another drive serves a project on this one"
"%exe%" --project "%project%" --store "%there%" store verify >"%log%" 2>&1
call :ends %errorlevel% 0 "it is whole"
if "%ps%"=="works" for /f "delims=" %%l in ('powershell -NoProfile -Command "(Get-Volume -FilePath $env:there).FileSystemType"') do echo         its file system is %%l
echo         it stays at "%there%": remove it by hand
exit /b 0

:one_drive
if not defined OneDrive (call :skip "a project in OneDrive" "there is no OneDrive here" & exit /b 0)
set "cloud=%OneDrive%\drystone checklist %RANDOM%"
call :copy_quickstart "%cloud%"
"%exe%" --project "%cloud%" --store "%cloud%\the store" run hello >"%log%" 2>&1
call :says %errorlevel% 0 "Good" "a project and a store in OneDrive work"
rmdir /s /q "%cloud%" 2>nul
exit /b 0
