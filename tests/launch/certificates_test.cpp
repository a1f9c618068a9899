#include "launch/certificates.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "launch/files.hpp"
#include "launch/salt_secret.hpp"
#include "tests/launch/temporary_folder.hpp"

namespace troupe::launch {
namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

TEST_CASE("a cluster's certificates are made, verify, and are not overwritten") {
  const TemporaryFolder folder;
  const Status made = make_certificates(folder.path(), "c", {"head", "decode-1", "client"});
  REQUIRE_MESSAGE(made.ok(), made.error().message());
  for (const char* node : {"head", "decode-1", "client"}) {
    const Status verified = verify_certificate(folder.path(), node);
    CHECK_MESSAGE(verified.ok(), verified.error().message());
    CHECK(mode_of(certificate_files(folder.path(), node).key) == 0600);
  }
  CHECK(mode_of(folder.path() / "ca-key.pem") == 0600);
  CHECK_FALSE(make_authority(folder.path(), "c").ok());
  CHECK_FALSE(make_certificate(folder.path(), "head").ok());
  CHECK(verify_certificate(folder.path(), "head").ok());
}

TEST_CASE("a bundle for another host has no key of the authority") {
  const TemporaryFolder folder;
  const std::string longest(63, 'c');
  REQUIRE(make_authority(folder.path(), longest).ok());
  CHECK(*authority_cluster(folder.path()) == longest);
  const std::filesystem::path out = folder.path() / "out";
  std::filesystem::create_directory(out);
  REQUIRE(make_certificate(folder.path(), "work", out).ok());
  REQUIRE(make_certificate(folder.path(), "client", out).ok());
  CHECK(verify_certificate(out, "work").ok());
  CHECK(verify_certificate(out, "client").ok());
  CHECK_FALSE(std::filesystem::exists(out / "ca-key.pem"));
  CHECK(*read_salt_secret(out) == *read_salt_secret(folder.path()));
  CHECK(mode_of(out / salt_secret_name) == 0600);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "work.pem"));
  const TemporaryFolder other;
  REQUIRE(make_authority(other.path(), "c").ok());
  CHECK(make_certificate(other.path(), "more", out).error().what.find("is another authority") !=
        std::string::npos);
  std::filesystem::copy_file(out / "work.pem", folder.path() / "out" / "ca.pem",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(authority_cluster(out).error().what.find("was not made by troupe") != std::string::npos);
}

TEST_CASE("a salt secret is made once, kept, and refused when it is not ours or not private") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / salt_secret_name;
  CHECK(read_salt_secret(folder.path()).error().code == Code::not_found);
  const auto made = provide_salt_secret(folder.path());
  REQUIRE(made.ok());
  CHECK(made->size() == 64);
  CHECK(mode_of(file) == 0600);
  CHECK(*provide_salt_secret(folder.path()) == *made);
  const TemporaryFolder other;
  REQUIRE(provide_salt_secret(other.path()).ok());
  CHECK(*read_salt_secret(other.path()) != *made);
  CHECK(copy_salt_secret(folder.path(), other.path()).error().code == Code::failed_precondition);
  CHECK(copy_salt_secret(folder.path(), folder.path()).ok());
  REQUIRE(::chmod(file.c_str(), 0640) == 0);
  CHECK(read_salt_secret(folder.path()).error().what.find("can be read by other users") !=
        std::string::npos);
  for (const std::string& damaged : {std::string(), made->substr(1), *made + "0"}) {
    REQUIRE(write_file(file, damaged).ok());
    CHECK_FALSE(provide_salt_secret(folder.path()).ok());
  }
  v1::Manifest::Security security;
  CHECK(*salt_secret_of(security, other.path()) == *read_salt_secret(other.path()));
  security.set_secret_path(file.string());
  for (const auto& [bytes, is_ok] :
       {std::pair(31, false), {32, true}, {4096, true}, {4097, false}}) {
    const std::string text(static_cast<size_t>(bytes), 'x');
    REQUIRE(write_file(file, text).ok());
    const auto read = salt_secret_of(security, other.path());
    CHECK(read.ok() == is_ok);
    if (is_ok) CHECK(*read == text);
  }
}

TEST_CASE("wrong certificates are refused") {
  const TemporaryFolder ours;
  const TemporaryFolder theirs;
  REQUIRE(make_certificates(ours.path(), "c", {"a", "b"}).ok());
  REQUIRE(make_certificates(theirs.path(), "c", {"a"}).ok());
  const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  };
  SUBCASE("of another cluster") {
    copy(theirs.path() / "a.pem", ours.path() / "a.pem");
    copy(theirs.path() / "a-key.pem", ours.path() / "a-key.pem");
    CHECK(verify_certificate(ours.path(), "a").error().what.find("is not valid") !=
          std::string::npos);
  }
  SUBCASE("of another node") {
    copy(ours.path() / "b.pem", ours.path() / "a.pem");
    CHECK(verify_certificate(ours.path(), "a").error().what.find("is not the key of") !=
          std::string::npos);
    copy(ours.path() / "b-key.pem", ours.path() / "a-key.pem");
    CHECK(verify_certificate(ours.path(), "a").error().what.find("does not name a") !=
          std::string::npos);
  }
  SUBCASE("a key for all to read") {
    ::chmod((ours.path() / "a-key.pem").c_str(), 0644);
    CHECK(verify_certificate(ours.path(), "a").error().what.find("other users") !=
          std::string::npos);
  }
  SUBCASE("garbage and nothing") {
    REQUIRE(write_file(ours.path() / "a.pem", "-----BEGIN CERTIFICATE-----\nx\n").ok());
    CHECK(verify_certificate(ours.path(), "a").error().what.find("PEM") != std::string::npos);
    CHECK_FALSE(verify_certificate(ours.path(), "nobody").ok());
    CHECK_FALSE(make_certificate("/nonexistent", "a").ok());
  }
}

}  // namespace
}  // namespace troupe::launch
