// SPDX-License-Identifier: MIT
// Key files: reading returns what was written, and every typing error is detected.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "error.h"
#include "hex.h"
#include "key.h"
#include "paths.h"
#include "writer.h"

namespace sidra::test {
namespace {

fw::Key some_key() {
    fw::Key key;
    key.name = "test-1.a";
    key.seed.emplace();
    key.seed->bytes.fill(0x5a);
    key.public_key = fw::public_key(*key.seed);
    return key;
}

void expect_refusal(const std::string& text, const std::string& words) {
    try {
        fw::parse_key("some.key", text);
        ADD_FAILURE() << "taken: " << text;
    } catch (const fw::Error& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos)
            << "'" << e.what() << "' does not say '" << words << "'";
    }
}

// Replaces the line of this field; empty removes it.
std::string with(std::string text, const std::string& field, const std::string& line) {
    const size_t at = text.find("\n" + field + ": ") + 1, end = text.find('\n', at) + 1;
    return text.replace(at, end - at, line);
}

TEST(FirmwareKey, ThereAndBack) {
    const fw::Key key = some_key();
    const fw::Key secret = fw::parse_key("a", fw::private_text(key)), open = fw::parse_key("b", fw::public_text(key));
    EXPECT_EQ(secret.name, "test-1.a");
    EXPECT_EQ(secret.seed->bytes, key.seed->bytes);
    EXPECT_EQ(secret.public_key, key.public_key);
    EXPECT_EQ(open.public_key, key.public_key);
    EXPECT_FALSE(open.seed.has_value());
    EXPECT_EQ(fw::public_text(key).find("seed"), std::string::npos);
    EXPECT_EQ(fw::public_text(key).find(fw::hex(key.seed->bytes)), std::string::npos);
    const Bytes hash = sha256(public_key(key.seed->bytes));
    EXPECT_NE(fw::public_text(key).find("hash: " + fw::hex(hash)), std::string::npos);
}

TEST(FirmwareKey, EveryFieldIsNeededOnceAndRight) {
    const std::string text = fw::private_text(some_key());
    for (const std::string field : {"kind", "algorithm", "name", "public", "hash", "seed"}) {
        expect_refusal(with(text, field, ""), "has no field '" + field + "'");
        expect_refusal(with(text, field, field + ": \n"), "some.key");
        expect_refusal(text + field + ": 00\n", "repeats the field '" + field + "'");
    }
    expect_refusal(text + "more: 1\n", "is not a known field");
    expect_refusal(text + "more\n", "is not a known field");
    expect_refusal(with(text, "kind", "kind: secret\n"), "neither private nor public");
    expect_refusal(with(text, "kind", "kind: public\n"), "contains the secret");
    expect_refusal(with(text, "algorithm", "algorithm: rsa\n"), "not ed25519");
    expect_refusal(with(text, "name", "name: a b\n"), "not 1 to 64 letters");
    expect_refusal(with(text, "name", "name: \x1b[2J\n"), "not 1 to 64 letters");
    expect_refusal(with(text, "name", "name: " + std::string(65, 'x') + "\n"), "not 1 to 64 letters");
}

TEST(FirmwareKey, EveryDigitCounts) {
    const std::string text = fw::private_text(some_key());
    for (const std::string field : {"public", "hash", "seed"}) {
        const size_t begin = text.find("\n" + field + ": ") + field.size() + 3;
        for (size_t at = begin; at < begin + 64; ++at) {
            std::string changed = text;
            changed[at] = changed[at] == '0' ? '1' : '0';
            expect_refusal(changed, "the file is damaged");
            changed[at] = 'g';
            expect_refusal(changed, "not 32 bytes in hexadecimal");
            expect_refusal(text.substr(0, at) + text.substr(at + 1), "not 32 bytes in hexadecimal");
        }
    }
}

TEST(FirmwareKey, OtherFilesAndVersions) {
    const std::string text = fw::private_text(some_key());
    expect_refusal("", "it is empty");
    expect_refusal("# nothing\n\n", "it is empty");
    expect_refusal("-----BEGIN PRIVATE KEY-----\n", "line 1 is not 'sidra-firmware-key 1'");
    std::string newer = text;
    newer.replace(newer.find("key 1\n"), 6, "key 2\n");
    expect_refusal(newer, "newer sidra-fw");
    for (size_t size = 0; size + 1 < text.size(); ++size) expect_refusal(text.substr(0, size), "some.key");
    EXPECT_NO_THROW(fw::parse_key("a", text.substr(0, text.size() - 1)));  // the last line's end
}

TEST(FirmwareKey, TheDevelopmentKeyIsTheOneInTheTree) {
    for (const bool secret : {false, true}) {
        const std::string path = source_file("firmware/keys/development.") + (secret ? "key" : "pub");
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        EXPECT_NE(text.str().find("DEVELOPMENT KEY"), std::string::npos) << path;
        const fw::Key key = fw::parse_key(path, text.str());
        EXPECT_EQ(key.name, "development");
        EXPECT_EQ(key.seed.has_value(), secret);
        EXPECT_EQ(key.public_key, fw::development_key().public_key);
        EXPECT_TRUE(fw::is_development(key.hash()));
    }
    EXPECT_FALSE(fw::is_development(some_key().hash()));
}

TEST(FirmwareKey, NewKeysDiffer) { EXPECT_NE(fw::random_seed().bytes, fw::random_seed().bytes); }

}  // namespace
}  // namespace sidra::test
