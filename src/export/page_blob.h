/* The bytes of flame_page.js and flame_page.css, embedded at build time by embed.sh. ASCII, without
 * a NUL at the end. Constant; any thread. */
#ifndef KPROF_EXPORT_PAGE_BLOB_H
#define KPROF_EXPORT_PAGE_BLOB_H

#include <stddef.h>

extern const char page_flame_page_js[], page_flame_page_css[];
extern const size_t page_flame_page_js_bytes, page_flame_page_css_bytes;

#endif
