// The table of custom calls, and the reader of their configurations.
#include <gtest/gtest.h>

#include <string>

#include "core/eval/library_calls/call_config.h"
#include "core/eval/library_calls/custom_calls.h"

namespace hloscope::eval {
namespace {

struct Row {
  std::string target;
  bool runs;
};
const Row kRows[] = {
#define CUSTOM_CALL(target, kernel, source) {target, true},
#define CUSTOM_CALL_EXPANDED CUSTOM_CALL
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix) {target, false},
#include "core/eval/library_calls/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED
};

TEST(CustomCalls, NoRowHidesAnother) {
  for (const Row& row : kRows) {
    std::string example;
    for (char c : row.target) {
      if (c != '*') example.push_back(c == '?' ? 's' : c);
    }
    const CustomCallRow* found = FindCustomCall(example);
    ASSERT_NE(found, nullptr) << row.target;
    EXPECT_EQ(found->target, row.target) << example;
    EXPECT_EQ(found->kernel != nullptr, row.runs) << row.target;
    EXPECT_FALSE(row.runs ? found->source.empty() : found->why.empty() || found->fix.empty());
  }
}

TEST(CustomCalls, PatternsFitWholeNames) {
  const struct {
    std::string target;
    bool runs, known;
  } cases[] = {
      {"lapack_zgesdd_ffi", true, true},
      {"lapack_zgesdd_ffi2", false, false},
      {"hipsolver_getrf_ffi", true, true},
      {"cusolver_gesvdj_batched", true, true},
      {"xla_ffi_partitioned_python_gpu_callback", false, true},
      {"__gpu$xla.gpu.triton", false, true},
      {"my_lapack_sgetrf", false, false},
      {"", false, false},
  };
  for (const auto& c : cases) {
    const CustomCallRow* row = FindCustomCall(c.target);
    EXPECT_EQ(row != nullptr, c.known) << c.target;
    EXPECT_EQ(row != nullptr && row->kernel != nullptr, c.runs) << c.target;
  }
}

TEST(CallConfig, ReadsEverySpelling) {
  const struct {
    std::string text;
    int64_t n;
    std::string word;
    std::vector<int64_t> list;
    bool flag;
  } cases[] = {
      {R"({"n":3,"word":"AB","list":["1","2"],"flag":true})", 3, "AB", {1, 2}, true},
      {R"({n:3,word:AB,list:[1,2],flag:true})", 3, "AB", {1, 2}, true},
      {R"({n = 3 : i64, word = "AB", list = array<i64: 1, 2>, flag = true})",
       3,
       "AB",
       {1, 2},
       true},
      {R"({flag, list = [1 : i64, 2 : i64], n = 3 : ui8, word = "AB"})", 3, "AB", {1, 2}, true},
      {R"({list = dense<[1, 2]> : tensor<2xi64>, n = 3, word = "AB", flag = true})",
       3,
       "AB",
       {1, 2},
       true},
      {R"({"custom_call_config":{"attributes":"{n = 3 : i64, word = \"AB\", list = [1, 2], flag = true}"}})",
       3,
       "AB",
       {1, 2},
       true},
      {"opaque bytes", -1, "", {}, false},
      {"", -1, "", {}, false},
  };
  for (const auto& c : cases) {
    const auto config = CallConfig::Parse(c.text);
    ASSERT_TRUE(config.has_value()) << c.text;
    EXPECT_EQ(config->Integer("n", -1), c.n) << c.text;
    EXPECT_EQ(config->Text("word"), c.word) << c.text;
    EXPECT_EQ(config->Integers("list"), c.list) << c.text;
    EXPECT_EQ(config->Flag("flag"), c.flag) << c.text;
  }
}

TEST(CallConfig, RejectsWhatIsCutOffOrTooDeep) {
  const std::string texts[] = {
      "{",
      "{\"a\":",
      "{\"a\":1",
      "{\"a\":\"x",
      "{\"a\":[1}",
      "{a = array<i64: 1}",
      "{\"a\" 1}",
      "{} x",
      "{\"a\":\"\\",
      std::string(1000, '{'),
      "{a=" + std::string(100000, '['),
  };
  for (const std::string& text : texts) {
    EXPECT_FALSE(CallConfig::Parse(text).has_value()) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace hloscope::eval
