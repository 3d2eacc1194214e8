#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "real_terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define TERMS_MAX 2000

/* Integers at every size limit, floats, atoms, strings, lists, binaries, tuples, maps, funs, and
 * terms that only a node can create; each in every minor version of the format. */
static const char script[] =
    "T = [0,1,255,256,-1,-255,-256,2147483647,2147483648,-2147483648,-2147483649,1 bsl 59,"
    "1 bsl 63,(1 bsl 64)-1,1 bsl 64,-(1 bsl 63),-(1 bsl 63)-1,1 bsl 2047,-(1 bsl 2100)+12345,"
    "1 bsl 4000,"
    "0.0,-0.0,1.0,0.1,1.5e300,1.0e-300,123456.789,1.0e10,1.0e22,1.0e21,9007199254740991.0,"
    "0.001,0.0001,1.0e-5,1.234e-5,5.0e-324,1.7976931348623157e308,100.0,1200.0,1.0e5,0.3,2.0/3,"
    "a,'A b','end','',list_to_atom([228,114]),list_to_atom([1055,1088]),foo@bar_X1,'_x','1a',"
    "'\\n\\e\\t\\'\\\\x',list_to_atom([1,2,127,150]),list_to_atom(lists:duplicate(255,$x)),"
    "list_to_atom(lists:duplicate(255,16#10348)),undefined,"
    "[],[a],[1,2,3],\"abc\",[97,34,98,92,10,27],[a|b],[1,2|c],[[1],[2,300]],[1000,97],[1055,1088],"
    "lists:seq(1,300),lists:duplicate(70000,$a),[$a,$b|c],[[]],[55296],[228,246],"
    "<<>>,<<97,98,99>>,<<97,34,98>>,<<0,1,255>>,<<195,169>>,<<1:3>>,<<1,2,3:4>>,<<208,159>>,"
    "binary:copy(<<7>>,5000),"
    "{},{a},{a,[98],<<99>>,[1]},list_to_tuple(lists:seq(1,300)),{{},{{}}},"
    "#{},#{a=>1},#{{x}=>[1,2]},#{[]=>#{b=>{}}},"
    "fun lists:map/2,fun 'odd mod':'F'/3,"
    "lists:foldl(fun(_,A)->[A] end,[],lists:seq(1,50)),[{key,[118,97]},{k2,<<120>>}],"
    "self(),make_ref(),hd(erlang:ports())],"
    "io:setopts([{encoding,unicode}]),"
    "{ok,F} = file:open(os:getenv(\"KPROF_TERMS\"),[write,raw,binary,delayed_write]),"
    "[begin B = term_to_binary(X,[{minor_version,V}]),"
    "S = unicode:characters_to_binary(io_lib:format(\"~0tp\",[X])),"
    "ok = file:write(F,[<<(byte_size(B)):32,(byte_size(S)):32>>,B,S]) end"
    " || X <- T, V <- [0,1,2]], ok = file:close(F)";

/* The expression is passed in the environment, which avoids shell quoting. */
char *real_erl(const char *expression)
{
    static const char command[] =
        "erl +pc unicode -boot start_clean -noinput -eval '"
        "{ok,T,_} = erl_scan:string(os:getenv(\"KPROF_EXPR\") ++ \".\"),"
        "{ok,E} = erl_parse:parse_exprs(T), erl_eval:exprs(E,[]), halt().'";
    const size_t cap = 1 << 16;
    char *out = calloc(1, cap);
    size_t n = 0, got;
    FILE *p;

    assert_non_null(out);
    setenv("KPROF_EXPR", expression, 1);
    p = popen(command, "r");
    assert_non_null(p);
    while ((got = fread(out + n, 1, cap - 1 - n, p)) > 0)
        n += got;
    assert_int_equal(pclose(p), 0);
    return out;
}

static size_t be32(const uint8_t *p)
{
    return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
}

struct real_term *real_terms(size_t *count)
{
    char path[] = "/tmp/kprof_terms_XXXXXX";
    int fd = mkstemp(path);
    struct real_term *t = calloc(TERMS_MAX, sizeof *t);
    uint8_t head[8];
    FILE *f;

    assert_true(fd >= 0);
    assert_non_null(t);
    setenv("KPROF_TERMS", path, 1);
    free(real_erl(script));
    f = fdopen(fd, "rb");
    assert_non_null(f);
    *count = 0;
    while (fread(head, 1, sizeof head, f) == sizeof head) {
        struct real_term *r = &t[*count];
        size_t text = be32(head + 4);

        assert_true(++*count < TERMS_MAX);
        r->n = be32(head);
        r->bytes = malloc(r->n);
        r->text = calloc(1, text + 1);
        assert_true(r->bytes != NULL && r->text != NULL);
        assert_int_equal(fread(r->bytes, 1, r->n, f), r->n);
        assert_int_equal(fread(r->text, 1, text, f), text);
    }
    fclose(f);
    unlink(path);
    assert_true(*count > 250);
    return t;
}

void real_terms_free(struct real_term *t, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(t[i].bytes);
        free(t[i].text);
    }
    free(t);
}
