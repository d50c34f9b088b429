// docs/ptx-forms.md: every row of opcodes.def, and whether a test of this program runs it. Written
// anew where HLOSCOPE_WRITE_FORMS is set; else the page has to be what would be written.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/ptx/ir/forms.h"
#include "core/ptx/text/parser.h"
#include "tests/base/paths.h"
#include "tests/ptx/kernel.h"

namespace hloscope::ptx {
namespace {

struct Row {
  std::string opcode, modifiers, types, sources, operands;
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
#define FORM(operation, opcode, modifiers, types, sources, operands) \
  {opcode, modifiers, types, sources, operands},
#include "core/ptx/ir/opcodes.def"
#undef FORM
  };
  return rows;
}

// What of the PTX ISA no row has.
constexpr const char* kNotExecuted =
    "* `mma.sp`, `wgmma.mma_async.sp`, `tcgen05.mma` with `.sp`, `.ws`, `.ashift`, lanes of d that "
    "stay, a\n  scale of d, 96 elements along k; `cta_group::2`; `tcgen05.shift`\n"
    "* `mma` of `b1`, of `kind::f8f6f4` with sums of f16; `mma.m8n8k4` of f16; `wmma` of f64, s4 "
    "and "
    "b1, and of f16\n  with c and d of different types\n"
    "* im2col copies, `multimem` on several devices; in tensor maps interleaving, NaN outside of "
    "the "
    "array, swizzles\n  by 96 bytes, elements of 4 and 6 bits\n"
    "* `fma.oob`, `cvt` to and from `s2f6`, `cvt` of bf16x2 to 8 bits, sums of two f32 and two f16 "
    "or "
    "bf16\n"
    "* `tcgen05.ld.red`, `tcgen05.alloc.exclusive`; layouts of "
    "an "
    "mbarrier\n"
    "* calls through registers, textures and surfaces, "
    "video "
    "instructions\n"
    "* `%clock`, `%globaltimer`, `%smid` and other registers whose value only a device knows\n";

// The rows that a text uses: of each statement the first whose modifiers and number of operands
// fit.
void Note(const std::string& text, std::set<std::string>& used) {
  const auto syntax = ParseText(text, "k.ptx");
  if (!syntax.has_value()) return;
  for (const Entry& entry : syntax->entries) {
    for (const Statement& statement : entry.statements) {
      const auto forms = FormsOf(statement.opcode);
      for (size_t i = 0; i < forms.size(); ++i) {
        Instruction instruction;
        const size_t most = forms[i].operands.size();
        if (!MatchModifiers(forms[i], statement, instruction) ||
            (statement.operands.size() > most && (most == 0 || !forms[i].operands.back().repeated)))
          continue;
        used.insert(std::string(statement.opcode) + "#" + std::to_string(i));
      }
    }
  }
}

std::string Code(const std::string& text) {
  if (text.empty()) return "";
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return "`" + escaped + "`";
}

std::string Page() {
  std::set<std::string> used;
  for (const std::string& text : SeenTexts()) Note(text, used);
  std::ostringstream page;
  page
      << "# PTX forms\n\nEvery form of an instruction that the simulated GPU executes, a row each: "
         "`core/ptx/ir/opcodes.def` and\n`group_opcodes.def`, whose head explains the columns. "
         "*Tested*: a kernel of `ptx_test` runs it and compares what it gives\nwith values worked "
         "out "
         "otherwise (the scalar reference of `core/ptx/reference`, the host, by hand). "
         "Other forms are\nrefused by name, with line and column, before anything runs. "
         "`HLOSCOPE_WRITE_FORMS=1 ptx_test` writes this page.\n\nNot executed:\n\n"
      << kNotExecuted << "\n| opcode | modifiers | types T | types U | operands | tested |\n"
      << "|---|---|---|---|---|---|\n";
  std::map<std::string, size_t> next;
  for (const Row& row : Rows()) {
    const bool tested = used.contains(row.opcode + "#" + std::to_string(next[row.opcode]++));
    page << "| " << Code(row.opcode) << " | " << Code(row.modifiers) << " | " << Code(row.types)
         << " | " << Code(row.sources) << " | " << Code(row.operands) << " | "
         << (tested ? "yes" : "–") << " |\n";
  }
  return page.str();
}

class FormsPage : public ::testing::Environment {
 public:
  void TearDown() override {
    // Of a part of the tests it says nothing.
    if (GTEST_FLAG_GET(filter) != "*" || std::getenv("GTEST_TOTAL_SHARDS") != nullptr) return;
    const std::string path = SourcePath("docs/ptx-forms.md");
    const std::string page = Page();
    if (std::getenv("HLOSCOPE_WRITE_FORMS") != nullptr) {
      std::ofstream(path) << page;
      return;
    }
    std::ifstream file(path);
    const std::string held((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(held, page) << "write it anew: HLOSCOPE_WRITE_FORMS=1 ptx_test";
  }
};

const auto* const kPage = ::testing::AddGlobalTestEnvironment(new FormsPage);

}  // namespace
}  // namespace hloscope::ptx
