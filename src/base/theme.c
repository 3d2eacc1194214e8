#include <kprof/base/theme.h>
#include <string.h>

static const char *const themes[THEME_COUNT] = {"dark", "light", "8"};

const char *theme_name(enum theme t)
{
    return t < THEME_COUNT ? themes[t] : "?";
}

bool theme_parse(const char *s, enum theme *t)
{
    for (int i = 0; i < THEME_COUNT; i++) {
        if (strcmp(s, themes[i]) == 0) {
            *t = (enum theme)i;
            return true;
        }
    }
    return false;
}
