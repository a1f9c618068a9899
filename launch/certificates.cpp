#include "launch/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <memory>

#include "base/concat.hpp"
#include "launch/files.hpp"
#include "launch/limits.hpp"
#include "launch/salt_secret.hpp"

namespace troupe::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* authority_name = "troupe cluster authority";
constexpr size_t subject_part_bytes = 64;  // at most, by its standard

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free_function(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;

Error openssl_error(const std::string& what) {
  char reason[256] = "no reason given";
  if (const unsigned long number = ERR_get_error(); number != 0) {
    ERR_error_string_n(number, reason, sizeof reason);
  }
  ERR_clear_error();
  return error(Code::internal, what + ": " + reason);
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(bio.get(), certificate) == 1 ? text_of(bio.get()) : std::string();
}

std::string pem_of(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  const int ok =
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return ok == 1 ? text_of(bio.get()) : std::string();
}

Result<Certificate> read_certificate(const fs::path& path) {
  TROUPE_ASSIGN(const std::string text, read_file(path, limits::pem_bytes));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate) return certificate;
  return error(Code::corrupt, path.string() + " is not a certificate in PEM form");
}

// Refuses passwords: asking for one on the terminal would hang a start.
int no_password(char*, int, int, void*) {
  return 0;
}

Result<Key> read_key(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 0077) != 0) {
    return error(Code::failed_precondition, path.string() + " can be read by other users",
                 "chmod 600 " + path.string());
  }
  TROUPE_ASSIGN(const std::string text, read_file(path, limits::pem_bytes));
  const Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  if (key) return key;
  return error(Code::corrupt, path.string() + " is not a private key in PEM form");
}

bool add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, of full length
  const std::unique_ptr<BIGNUM, Free<BN_free>> number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// A certificate of everything but extensions and signature.
Certificate blank(const std::string& common_name, EVP_PKEY* key, X509* issuer,
                  const std::string& organization = {}) {
  Certificate made(X509_new());
  if (!made || X509_set_version(made.get(), 2) != 1 || !set_serial(made.get())) return nullptr;
  // A minute back: the clocks of two hosts differ a little.
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), limits::certificate_days * 24 * 3600);
  X509_NAME* name = X509_get_subject_name(made.get());
  const auto add = [name](const char* part, const std::string& text) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.c_str());
    return X509_NAME_add_entry_by_txt(name, part, MBSTRING_UTF8, bytes, -1, -1, 0) == 1;
  };
  if (!add("CN", common_name)) return nullptr;
  if (!organization.empty() && !add("O", organization)) return nullptr;
  X509* signer = issuer == nullptr ? made.get() : issuer;
  if (X509_set_issuer_name(made.get(), X509_get_subject_name(signer)) != 1) return nullptr;
  return X509_set_pubkey(made.get(), key) == 1 ? std::move(made) : nullptr;
}

Status write_pair(const CertificateFiles& files, X509* certificate, EVP_PKEY* key) {
  const std::string certificate_text = pem_of(certificate);
  const std::string key_text = pem_of(key);
  if (certificate_text.empty() || key_text.empty()) {
    return openssl_error("cannot write a certificate");
  }
  TROUPE_TRY(create_file(files.key, key_text));
  return create_file(files.certificate, certificate_text);
}

Status check_signed(X509* certificate, X509* authority, const std::string& path) {
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  if (!store || !context || X509_STORE_add_cert(store.get(), authority) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) != 1) {
    return openssl_error("cannot check a certificate");
  }
  if (X509_verify_cert(context.get()) == 1) return {};
  const int reason = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return error(Code::corrupt,
               concat(path, " is not valid: ", X509_verify_cert_error_string(reason)),
               "make the cluster's certificates again");
}

}  // namespace

CertificateFiles certificate_files(const fs::path& folder, const std::string& node) {
  return {folder / "ca.pem", folder / (node + ".pem"), folder / (node + "-key.pem")};
}

Status make_authority(const fs::path& folder, const std::string& cluster) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("cannot make a key");
  const Certificate made = blank(authority_name, key.get(), nullptr, cluster);
  if (!made ||
      !add_extension(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign") ||
      !add_extension(made.get(), made.get(), NID_subject_key_identifier, "hash") ||
      X509_sign(made.get(), key.get(), EVP_sha256()) == 0) {
    return openssl_error("cannot make the cluster's authority");
  }
  return write_pair(certificate_files(folder, "ca"), made.get(), key.get());
}

Result<std::string> authority_cluster(const fs::path& folder) {
  const fs::path path = certificate_files(folder, "ca").authority;
  TROUPE_ASSIGN(const Certificate authority, read_certificate(path));
  X509_NAME* subject = X509_get_subject_name(authority.get());
  const auto part = [subject](int id) {
    char text[subject_part_bytes + 1] = "";
    X509_NAME_get_text_by_NID(subject, id, text, sizeof text);
    return std::string(text);
  };
  if (part(NID_commonName) == authority_name) return part(NID_organizationName);
  return error(Code::corrupt, concat(path.string(), " was not made by troupe"),
               "say which cluster it is");
}

// A copy of the authority's certificate; one that is there already must be the same.
Status copy_authority(const fs::path& from, const fs::path& to) {
  TROUPE_ASSIGN(const std::string text, read_file(from, limits::pem_bytes));
  std::error_code ignored;
  if (!fs::exists(to, ignored)) return create_file(to, text);
  TROUPE_ASSIGN(const std::string present, read_file(to, limits::pem_bytes));
  if (present == text) return {};
  return error(Code::failed_precondition, to.string() + " is another authority",
               "choose an empty folder");
}

Status make_certificate(const fs::path& folder, const std::string& node, const fs::path& out) {
  const fs::path target = out.empty() ? folder : out;
  const CertificateFiles authority_files = certificate_files(folder, "ca");
  TROUPE_ASSIGN(const Certificate authority, read_certificate(authority_files.certificate));
  TROUPE_ASSIGN(const Key authority_key, read_key(authority_files.key));
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("cannot make a key");
  const Certificate made = blank(node, key.get(), authority.get());
  X509* issuer = authority.get();
  if (!made || !add_extension(made.get(), issuer, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(made.get(), issuer, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(made.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth") ||
      !add_extension(made.get(), issuer, NID_subject_alt_name, "DNS:" + node) ||
      !add_extension(made.get(), issuer, NID_authority_key_identifier, "keyid") ||
      X509_sign(made.get(), authority_key.get(), EVP_sha256()) == 0) {
    return openssl_error("cannot make the certificate of " + node);
  }
  const CertificateFiles files = certificate_files(target, node);
  if (!out.empty()) {
    TROUPE_TRY(copy_authority(authority_files.authority, files.authority));
    TROUPE_TRY(copy_salt_secret(folder, out));
  }
  return write_pair(files, made.get(), key.get());
}

Status verify_certificate(const fs::path& folder, const std::string& node) {
  const CertificateFiles files = certificate_files(folder, node);
  TROUPE_ASSIGN(const Certificate authority, read_certificate(files.authority));
  TROUPE_ASSIGN(const Certificate certificate, read_certificate(files.certificate));
  TROUPE_ASSIGN(const Key key, read_key(files.key));
  TROUPE_TRY(check_signed(certificate.get(), authority.get(), files.certificate.string()));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return error(Code::corrupt,
                 files.key.string() + " is not the key of " + files.certificate.string());
  }
  if (X509_check_host(certificate.get(), node.c_str(), node.size(), 0, nullptr) != 1) {
    return error(Code::corrupt, files.certificate.string() + " does not name " + node);
  }
  return {};
}

Status make_certificates(const fs::path& folder, const std::string& cluster,
                         const std::vector<std::string>& nodes) {
  TROUPE_TRY(make_authority(folder, cluster));
  for (const std::string& node : nodes) TROUPE_TRY(make_certificate(folder, node));
  return {};
}

}  // namespace troupe::launch
