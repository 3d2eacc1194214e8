/* The tags of the external term format, as erts "External Term Format" numbers them. For src/erl
 * only. */
#ifndef KPROF_ERL_ETF_TAG_H
#define KPROF_ERL_ETF_TAG_H

enum etf_tag {
    T_NEW_FLOAT = 70,
    T_BIT_BINARY = 77,
    T_NEW_PID = 88,
    T_NEW_PORT = 89,
    T_NEWER_REFERENCE = 90,
    T_SMALL_INTEGER = 97,
    T_INTEGER = 98,
    T_FLOAT = 99,
    T_ATOM = 100,
    T_REFERENCE = 101,
    T_PORT = 102,
    T_PID = 103,
    T_SMALL_TUPLE = 104,
    T_LARGE_TUPLE = 105,
    T_NIL = 106,
    T_STRING = 107,
    T_LIST = 108,
    T_BINARY = 109,
    T_SMALL_BIG = 110,
    T_LARGE_BIG = 111,
    T_NEW_FUN = 112,
    T_EXPORT = 113,
    T_NEW_REFERENCE = 114,
    T_SMALL_ATOM = 115,
    T_MAP = 116,
    T_ATOM_UTF8 = 118,
    T_SMALL_ATOM_UTF8 = 119,
    T_V4_PORT = 120,
    T_VERSION = 131
};

#endif
