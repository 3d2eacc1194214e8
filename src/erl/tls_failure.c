#include "tls_failure.h"

#include <arpa/inet.h>
#include <kprof/base/text.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NAME_COLUMNS_MAX 40

static void time_text(const ASN1_TIME *at, char *out, size_t cap)
{
    struct tm tm;

    if (ASN1_TIME_to_tm(at, &tm) != 1 || strftime(out, cap, "%Y-%m-%d %H:%M UTC", &tm) == 0)
        snprintf(out, cap, "an unknown date");
}

static void add_name(struct buf *out, const char *s, size_t n)
{
    if (out->len + NAME_COLUMNS_MAX + 8 > out->max)
        return;
    buf_adds(out, out->len > 0 ? ", " : "");
    text_safe(out, s, n, NAME_COLUMNS_MAX, true);
}

static void add_alternative(struct buf *out, const GENERAL_NAME *name)
{
    char address[INET6_ADDRSTRLEN];

    if (name->type == GEN_DNS) {
        add_name(out, (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                 (size_t)ASN1_STRING_length(name->d.dNSName));
    } else if (name->type == GEN_IPADD) {
        int n = ASN1_STRING_length(name->d.iPAddress);

        if ((n == 4 || n == 16) &&
            inet_ntop(n == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress),
                      address, sizeof address) != NULL)
            add_name(out, address, strlen(address));
    }
}

static void add_common_name(struct buf *out, X509 *cert)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    const ASN1_STRING *s =
        at >= 0 ? X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)) : NULL;

    if (s != NULL)
        add_name(out, (const char *)ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s));
}

void tls_failure_certificate(struct tls_failure *f, X509 *cert, int verify, int depth)
{
    GENERAL_NAMES *names;
    struct buf text;

    f->verify = verify;
    f->depth = depth;
    if (cert == NULL)
        return;
    time_text(X509_get0_notBefore(cert), f->from, sizeof f->from);
    time_text(X509_get0_notAfter(cert), f->to, sizeof f->to);
    buf_init(&text, sizeof f->names - 1);
    names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        add_alternative(&text, sk_GENERAL_NAME_value(names, i));
    GENERAL_NAMES_free(names);
    if (text.len == 0)
        add_common_name(&text, cert);
    snprintf(f->names, sizeof f->names, "%s", text.len > 0 ? text.data : "no host");
    buf_release(&text);
}

static const char *whose(const struct tls_failure *f)
{
    return f->depth == 0 ? "its certificate" : "the certificate of its CA";
}

static void add_authority(const struct tls_failure *f, struct buf *out)
{
    if (f->ca != NULL)
        buf_addf(out,
                 "its certificate is not signed by a CA in %.120s; give the file of its "
                 "CA with --tls-ca",
                 f->ca);
    else
        buf_adds(out, "its certificate is not signed by a CA that this machine trusts; "
                      "give its CA with --tls-ca or --tls-optfile");
}

static void add_verify(const struct tls_failure *f, struct buf *out)
{
    switch (f->verify) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        buf_addf(out, "%s expired on %s; the node needs a new one", whose(f), f->to);
        return;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        buf_addf(out, "%s is valid only from %s; check the clocks of both machines", whose(f),
                 f->from);
        return;
    case X509_V_ERR_HOSTNAME_MISMATCH:
        buf_addf(out, "its certificate is for %s, not for %.100s, the host of the node's name",
                 f->names, f->host);
        return;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: /* another authority with the same name */
        add_authority(f, out);
        return;
    default:
        buf_addf(out, "%s was not accepted: %s", whose(f),
                 X509_verify_cert_error_string(f->verify));
    }
}

/* The alert that the node has sent; -1: none. */
static int alert_of(unsigned long error)
{
    int reason = ERR_GET_REASON(error);

    return ERR_GET_LIB(error) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET &&
                   reason < SSL_AD_REASON_OFFSET + 256
               ? reason - SSL_AD_REASON_OFFSET
               : -1;
}

/* The node asked for a certificate, received none, and refused the connection. Before TLS 1.3
 * there is no alert of its own for it. */
static bool misses_ours(const struct tls_failure *f, int alert)
{
    return alert == SSL_AD_CERTIFICATE_REQUIRED ||
           (f->asked && !f->has_cert &&
            (alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_BAD_CERTIFICATE || alert < 0));
}

/* Why the node does not accept our certificate; NULL: the alert does not say that. */
static const char *rejects_ours(int alert)
{
    switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
        return "it is not valid";
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
        return "its kind is not supported";
    case SSL_AD_CERTIFICATE_REVOKED:
        return "it was revoked";
    case SSL_AD_CERTIFICATE_EXPIRED:
        return "it has expired";
    case SSL_AD_CERTIFICATE_UNKNOWN:
        return "it was not accepted";
    case SSL_AD_UNKNOWN_CA:
        return "the node does not know its CA";
    default:
        return NULL;
    }
}

/* The versions of both sides differ; the node may say so, or answer with an old one. */
static bool no_version(int alert, int reason)
{
    return alert == SSL_AD_PROTOCOL_VERSION || reason == SSL_R_UNSUPPORTED_PROTOCOL ||
           reason == SSL_R_UNSUPPORTED_SSL_VERSION;
}

static void add_alert(const struct tls_failure *f, int alert, struct buf *out)
{
    if (rejects_ours(alert) != NULL && f->has_cert)
        buf_addf(out, "it rejected the certificate of kprof-top: %s; give another with --tls-cert",
                 rejects_ours(alert));
    else
        buf_addf(out, "it refused TLS with the alert '%s'; the log of the node has the reason",
                 SSL_alert_desc_string_long(alert));
}

void tls_failure_reason(unsigned long error, struct buf *out)
{
    const char *reason = ERR_reason_error_string(error);

    if (reason != NULL)
        buf_adds(out, reason);
    else
        buf_addf(out, "error %lx", error);
}

void tls_failure_text(const struct tls_failure *f, struct buf *out)
{
    int alert = alert_of(f->error), reason = ERR_GET_REASON(f->error);

    if (f->verify != X509_V_OK) {
        add_verify(f, out);
    } else if (misses_ours(f, alert) && !f->timed_out) {
        buf_adds(out, "it requires a certificate of kprof-top; give --tls-cert and --tls-key, or "
                      "--tls-optfile");
    } else if (no_version(alert, reason)) {
        buf_adds(out, "it has no version of TLS in common with kprof-top, which uses 1.2 and 1.3; "
                      "{versions, [...]} in the file of --tls-optfile can restrict these");
    } else if (alert >= 0) {
        add_alert(f, alert, out);
    } else if (f->timed_out) {
        buf_adds(out, "it does not answer the TLS handshake: it is suspended or very busy, or its "
                      "port is a plain one (try without --tls)");
    } else if (f->error == 0) {
        buf_adds(out, "it closed the connection during the TLS handshake; the log of the node may "
                      "have the reason");
    } else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
        buf_adds(out, "its answer is not TLS; try without --tls");
    } else {
        buf_adds(out, "TLS failed: ");
        tls_failure_reason(f->error, out);
    }
}
