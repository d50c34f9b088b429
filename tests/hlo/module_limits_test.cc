// Every limit of limits.def holds for text, protos and text protos alike: at the limit a module is
// read, one below it is refused with the limit's name, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"

namespace hloscope::hlo {
namespace {

std::string Repeated(std::string_view text, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += text;
  return out;
}

std::string Entry(std::string_view body) {
  return "HloModule m\n\nENTRY e {\n" + std::string(body) + "}\n";
}

std::string Computations(int64_t count) {
  std::string out = "HloModule m\n\n";
  for (int64_t i = 1; i < count; ++i) {
    out += "c" + std::to_string(i) + " {\n  ROOT p" + std::to_string(i) +
           " = f32[] parameter(0)\n}\n\n";
  }
  return out + "ENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n";
}

std::string Instructions(int64_t count) {
  std::string body = "  p = f32[] parameter(0)\n";
  for (int64_t i = 1; i < count; ++i) {
    body += "  a" + std::to_string(i) + " = f32[] copy(p)\n";
  }
  return Entry(body);
}

std::string Operands(int64_t count) {
  return Entry("  p = f32[] parameter(0)\n  ROOT t = (f32[]" + Repeated(", f32[]", count - 1) +
               ") tuple(p" + Repeated(", p", count - 1) + ")\n");
}

std::string TupleArity(int64_t count) {
  return Entry("  ROOT p = (f32[]" + Repeated(", f32[]", count - 1) + ") parameter(0)\n");
}

std::string Rank(int64_t count) {
  return Entry("  ROOT p = f32[1" + Repeated(",1", count - 1) + "] parameter(0)\n");
}

std::string Nesting(int64_t count) {
  return Entry("  ROOT p = " + Repeated("(", count) + "f32[]" + Repeated(")", count) +
               " parameter(0)\n");
}

std::string TensorBytes(int64_t count) {
  return Entry("  ROOT c = u8[" + std::to_string(count) + "] constant({1" +
               Repeated(", 1", count - 1) + "})\n");
}

// The limits of a module, with a module that is at it.
struct ModuleLimit {
  std::string_view name;
  std::string (*text)(int64_t count);
};
constexpr ModuleLimit kModuleLimits[] = {
    {"computations", Computations},
    {"instructions", Instructions},
    {"operands", Operands},
    {"tuple-arity", TupleArity},
    {"rank", Rank},
    {"nesting", Nesting},
    {"tensor", TensorBytes},
};

// The others: what they bound has no other form, or is no part of a module.
constexpr std::string_view kOtherLimits[] = {
    "input-file",        "file-memory",    "token",
    "archive",           "archive-member", "archive-members",
    "compression-ratio", "proto-nesting",  "directory-entries",
    "worker-frame",      "deadline",       "memory",
    "interpreter-steps", "object-cache",   "devices",
    "diagnostics",
};

TEST(LimitsTest, EveryRowIsClassified) {
  for (const LimitRow& row : LimitRows()) {
    const bool is_of_modules = std::ranges::count(kModuleLimits, row.name, &ModuleLimit::name) == 1;
    const bool is_other = std::ranges::count(kOtherLimits, row.name) == 1;
    EXPECT_NE(is_of_modules, is_other) << row.name;
  }
}

struct Outcome {
  bool is_read = false;
  size_t errors = 0;
  std::string hint;
};

Outcome ReadAsText(const std::string& text, const Limits& limits) {
  const ParseResult result = ParseText(text, limits);
  Outcome outcome{result.module != nullptr, result.diagnostics.size(), {}};
  if (!result.diagnostics.empty()) outcome.hint = result.diagnostics[0].hint;
  return outcome;
}

Outcome OfProto(const Result<ProtoFile>& file) {
  if (file) return {true, 0, {}};
  return {false, 1, file.error().hint};
}

TEST(LimitsTest, HoldForTextAndProtosAlike) {
  constexpr int64_t kCount = 6;
  for (const ModuleLimit& row : kModuleLimits) {
    SCOPED_TRACE(row.name);
    const std::string text = row.text(kCount);
    const ParseResult parsed = ParseText(text);
    ASSERT_NE(parsed.module, nullptr)
        << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
    ProtoFile file;
    file.module = parsed.module;
    const std::string proto = HloToProto(file), text_proto = HloToTextProto(file);
    for (const int64_t limit : {kCount, kCount - 1}) {
      Limits limits;
      ASSERT_TRUE(SetLimit(limits, row.name, limit));
      const Outcome outcomes[] = {
          ReadAsText(text, limits),
          OfProto(ReadProto(std::as_bytes(std::span(proto)), limits)),
          OfProto(ReadTextProto(text_proto, limits)),
      };
      for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.is_read, limit == kCount) << limit << " " << outcome.hint;
        if (limit == kCount) continue;
        EXPECT_EQ(outcome.errors, 1u);
        EXPECT_EQ(outcome.hint, "raise it with --limit " + std::string(row.name) + "=N");
      }
    }
  }
}

// What follows a limit is not read as it is meant: the message is alone.
TEST(LimitsTest, TextStopsAtALimit) {
  Limits limits;
  limits.instructions = 10;
  const ParseResult result = ParseText(Instructions(100) + Instructions(100), limits);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].rule, "limit");
  EXPECT_EQ(result.diagnostics[0].message, "more instructions than the limit of 10");
}

// Computations inside of others count as they do written apart.
TEST(LimitsTest, InlineComputationsCount) {
  const std::string text =
      "HloModule m\n\nENTRY e {\n  p = f32[2] parameter(0)\n  ROOT m = f32[2] map(p), "
      "dimensions={0}, to_apply={ x = f32[] parameter(0) ROOT n = f32[] negate(x) }\n}\n";
  Limits limits;
  limits.computations = 2;
  EXPECT_NE(ParseText(text, limits).module, nullptr);
  limits.computations = 1;
  EXPECT_EQ(ParseText(text, limits).module, nullptr);
}

}  // namespace
}  // namespace hloscope::hlo
