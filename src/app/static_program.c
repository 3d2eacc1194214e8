#include "static_program.h"

#include <nss.h>
#include <sys/auxv.h>

/* The address of the dynamic linker; a static program has none. */
static int is_static(void)
{
    return getauxval(AT_BASE) == 0;
}

void static_program_begin(void)
{
    if (!is_static())
        return;
    (void)__nss_configure_lookup("hosts", "files dns");
    (void)__nss_configure_lookup("passwd", "files");
}
