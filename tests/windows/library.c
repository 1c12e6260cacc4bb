/* A library that has one function, NAME, and says its VERSION: see show.c. */
#define TEXT_OF(text) #text
#define TEXT(text) TEXT_OF(text)

__declspec(dllexport) const char *NAME(void) { return TEXT(VERSION); }
