// Instructions written otherwise: what is tried, and that the rest of the text stays.
#include "core/ptx/switches/line_edits.h"

#include <algorithm>
#include <set>

#include "core/ptx/switches/statement_text.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

std::set<std::string> EditsOf(const std::string& instruction, uint32_t level = 0) {
  const auto module = Module::Parse(
      KernelText("ld.global.b32 %r2, [%rd1];\nld.global.b32 %r3, [%rd2];\n" + instruction),
      "k.ptx");
  EXPECT_TRUE(module.has_value()) << (module.has_value() ? "" : module.error().ToString());
  std::set<std::string> texts;
  if (!module.has_value()) return texts;
  const std::string& text = module->text();
  const auto line = static_cast<uint32_t>(
      1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(text.find(instruction)),
                     '\n'));
  for (const LineEdit& edit : LineEditsOf(*module, "k", {})) {
    if (edit.line != line || edit.level != level || edit.is_float) continue;
    texts.insert(edit.inserts ? "before" : StatementAfter(text, edit));
  }
  return texts;
}

TEST(LineEdits, OfEachKind) {
  const auto has = [](const std::string& instruction, const std::string& edit) {
    EXPECT_TRUE(EditsOf(instruction).contains(edit)) << instruction;
  };
  has("max.f32 %r4, %r2, %r3;", "min.f32 %r4, %r2, %r3");
  has("shfl.sync.bfly.b32 %r4, %r2, 4, 31, -1;", "shfl.sync.bfly.b32 %r4, %r2, 8, 31, -1");
  has("shl.b32 %r4, %r2, 4;", "shl.b32 %r4, %r2, 5");
  has("mul.lo.s32 %r4, %r2, 32;", "mul.lo.s32 %r4, %r2, 33");
  has("setp.lt.u32 %p1, %r2, 993;", "setp.lt.u32 %p1, %r2, 992");
  has("setp.lt.u32 %p1, %r2, 993;", "setp.le.u32 %p1, %r2, 993");
  has("sub.s32 %r4, %r2, %r3;", "sub.s32 %r4, %r3, %r2");
  has("ld.shared.b32 %r4, [%rd4+8];", "ld.shared.b32 %r4, [%rd4+4]");
  has("ld.shared.b32 %r4, [%rd4];", "ld.shared.b32 %r4, [%rd4+4]");
  has("ld.shared.b32 %r4, [%rd4];", "before");
  has("@%p1 mov.b32 %r4, %r2;", "@!%p1 mov.b32 %r4, %r2");
  has("@%p1 mov.b32 %r4, %r2;", "mov.b32 %r4, %r2");
  has("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r4, %r5, %r6, %r7},\n"
      "{%r8, %r9, %r10, %r11}, {%r2, %r3}, {%r4, %r5, %r6, %r7};",
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r4, %r5, %r6, %r7}, "
      "{%r8, %r9, %r10, %r11}, {%r3, %r2}, {%r4, %r5, %r6, %r7}");
  EXPECT_TRUE(EditsOf("mov.b32 %r4, %r2;", 3).contains("mov.b32 %r4, %r3"));
  // A constant with one bit otherwise, or another of the kernel.
  EXPECT_TRUE(
      EditsOf("add.rn.f32 %r4, %r2, 0fCB50007F;", 2).contains("add.rn.f32 %r4, %r2, 0fCB40007F"));
  EXPECT_TRUE(EditsOf("fma.rn.f32 %r4, %r2, 0f3F800001, 0f40490FDB;", 2)
                  .contains("fma.rn.f32 %r4, %r2, 0f40490FDB, 0f40490FDB"));
  // Where and whether threads wait stays.
  EXPECT_TRUE(EditsOf("bar.sync 0;").empty());
}

TEST(LineEdits, OneEntryOfSeveral) {
  const std::string other = "\n.visible .entry other()\n{\nret;\n}\n";
  const auto module = Module::Parse(KernelText("mov.b32 %r2, 7;") + other, "k.ptx");
  ASSERT_TRUE(module.has_value());
  const auto text = TextOfEntry(*module, "k");
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(std::ranges::count(*text, '\n'), std::ranges::count(module->text(), '\n'));
  const auto alone = Module::Parse(*text, "k.ptx");
  ASSERT_TRUE(alone.has_value());
  ASSERT_EQ(alone->entries().size(), 1u);
  EXPECT_EQ(alone->entries()[0].name, "k");
  EXPECT_FALSE(TextOfEntry(*module, "none").has_value());
}

}  // namespace
}  // namespace hloscope::ptx
