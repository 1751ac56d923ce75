#include "crypto/crypto.h"

#include "catch.h"
#include "core/files.h"
#include "files.h"

namespace dtrain {
namespace {

TEST_CASE("SHA-256 of the standard's examples") {  // FIPS 180-2, appendix B; and nothing at all
  CHECK(hexadecimal(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hexadecimal(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hexadecimal(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hexadecimal(sha256(std::string(1000000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 of a file is that of its bytes") {
  const TemporaryFolder folder;
  const std::string million(1000000, 'a');
  std::string large;  // more than is read at once
  for (int i = 0; i < 17; ++i) large += million;
  for (const std::string& content : {std::string(), million, large}) {
    write_file_atomically(folder / "file", content);
    CHECK(hexadecimal(sha256_of_file(folder / "file")) == hexadecimal(sha256(content)));
  }
  CHECK_THROWS_AS(sha256_of_file(folder / "none"), Error);
}

TEST_CASE("HMAC of the standard's examples") {  // RFC 4231, cases 1, 2, 3, 6
  CHECK(hexadecimal(hmac_sha256(std::string(20, '\x0b'), "Hi There")) ==
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hexadecimal(hmac_sha256("Jefe", "what do ya want for nothing?")) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hexadecimal(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))) ==
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  CHECK(hexadecimal(hmac_sha256(std::string(131, '\xaa'),
                                "Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("a job without a token has a key of no bytes, which is one too") {
  // Python: hmac.new(b"", b"", "sha256") and hmac.new(b"", b"member", "sha256")
  CHECK(hexadecimal(hmac_sha256("", "")) ==
        "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  CHECK(hexadecimal(hmac_sha256("", "member")) ==
        "7285663551b5bd39295151009934b9ec7ab8c21aaacd2f59fd7f3e390c97d4ef");
}

TEST_CASE("secrets compare as a whole, and random bytes differ") {
  CHECK(same_secret("abc", "abc"));
  CHECK(same_secret("", ""));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "ab"));
  CHECK_FALSE(same_secret(std::string("a\0b", 3), std::string("a\0c", 3)));
  CHECK(random_bytes(32).size() == 32);
  CHECK(random_bytes(32) != random_bytes(32));
}

TEST_CASE("bytes are shown as two digits each") {
  CHECK(hexadecimal("") == "");
  CHECK(hexadecimal(std::string("\0\x0a\xff", 3)) == "000aff");
}

TEST_CASE("base64 is that of RFC 4648, and back") {
  for (const auto& [bytes, text] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {std::string("\0\xff\0", 3), "AP8A"}}) {
    INFO(text);
    CHECK(base64(bytes) == text);
    CHECK(from_base64(text) == bytes);
  }
  for (const char* other : {"Zg", "Z===", "====", "Z-==", "inf"}) CHECK_THROWS_AS(from_base64(other), Error);
}

}  // namespace
}  // namespace dtrain
