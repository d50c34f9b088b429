// What the viewer knows without drawing: history, texts, words, search, tables.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/hlo/text/text.h"
#include "tests/base/paths.h"
#include "viewer/facts/dump_facts.h"
#include "viewer/facts/memory/memory_groups.h"
#include "viewer/facts/memory/scope_words.h"
#include "viewer/facts/outside_nodes.h"
#include "viewer/frame/keyboard.h"
#include "viewer/model/history.h"
#include "viewer/model/hover_words.h"
#include "viewer/model/search_index.h"
#include "viewer/model/state_folder.h"
#include "viewer/model/text_document.h"
#include "viewer/model/text_line.h"
#include "viewer/widgets/picture.h"
#include "viewer/widgets/syntax.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/word_diff.h"

namespace hloscope::viewer {
namespace {

TEST(HoverWords, OpcodesAttributesAndLayouts) {
  const std::string line =
      "  ROOT %dot.1 = f32[16,256]{1,0:T(8,128)S(1)} dot(f32[16,8]{1,0} %add, %b.dot), "
      "lhs_contracting_dims={1}, metadata={op_name=\"dot(x) index=2\"}";
  auto words = [&](std::string_view part, std::string_view device = "tpu") {
    return HoverWords(line, line.find(part) + part.size() - 1, device);
  };
  EXPECT_TRUE(words(" dot").starts_with("dot: ")) << words(" dot");
  EXPECT_TRUE(words(" lhs_contracting_dims").starts_with("lhs_contracting_dims: "));
  EXPECT_NE(words(":T(8").find("\nT(8,128): tiles of 8 by 128"), std::string::npos);
  EXPECT_NE(words("S(1").find("VMEM"), std::string::npos) << words("S(1");
  EXPECT_EQ(words("S(1", "gpu").find("VMEM"), std::string::npos);
  for (const char* part : {"%dot", "ROOT", "[16", "b.dot", "={1", "op_name", "\"dot"})
    EXPECT_EQ(words(part), "") << part;
  EXPECT_EQ(HoverWords("", 0, ""), "");
  EXPECT_EQ(HoverWords("]{", 1, ""), "");
  EXPECT_EQ(HoverWords("f32[4]{9,9}", 8, ""), "");
}

TEST(History, DropsWhatLayAhead) {
  History<int> history(0, 3);
  for (int i = 1; i <= 4; ++i) history.Push(i);
  EXPECT_EQ(history.current(), 4);
  EXPECT_TRUE(history.Back());
  EXPECT_TRUE(history.Back());
  EXPECT_FALSE(history.Back()) << "only three are kept";
  EXPECT_EQ(history.current(), 2);
  history.Push(9);
  EXPECT_FALSE(history.CanGoForward());
  history.Push(9);
  EXPECT_TRUE(history.Back());
  EXPECT_EQ(history.current(), 2);
}

std::shared_ptr<const TextDocument> Document(std::string text) {
  auto made = TextDocument::Make(FileView::FromBytes("x.txt", std::move(text)),
                                 dump::FileKind::kHloText, {});
  EXPECT_TRUE(made);
  return *made;
}

TEST(TextDocument, Lines) {
  auto document = Document("one\r\ntwo\n\nfour");
  ASSERT_EQ(document->lines(), 4);
  EXPECT_EQ(document->Line(0), "one");
  EXPECT_EQ(document->Line(2), "");
  EXPECT_EQ(document->Line(3), "four");
  EXPECT_EQ(document->Line(4), "");
  EXPECT_EQ(document->LineAt(5), 1);
  EXPECT_EQ(Document("")->lines(), 1);
}

TEST(TextDocument, FindsDefinitionsNotUses) {
  auto document = Document(
      "HloModule m\n\n%body (p: f32[]) -> f32[] {\n  ROOT %add.1 = f32[] add(%add, %p)\n}\n"
      "ENTRY %main {\n  %add = f32[] add(%p, %p), metadata={op_name=\"add.1\"}\n}\n");
  EXPECT_EQ(document->FindDefinition("add"), 6);
  EXPECT_EQ(document->FindDefinition("add.1"), 3);
  EXPECT_EQ(document->FindDefinition("body"), 2);
  EXPECT_EQ(document->FindDefinition("main"), 5);
  EXPECT_EQ(document->FindDefinition("p"), -1);
}

TEST(TextDocument, FindsTextAroundTheEnd) {
  auto document = Document("alpha\nBeta\ngamma alpha\n");
  EXPECT_EQ(document->FindText("alpha", 1, false, {}), 2);
  EXPECT_EQ(document->FindText("beta", 0, false, {}), 1) << "small letters match both cases";
  EXPECT_EQ(document->FindText("bEta", 0, false, {}), -1) << "a capital one matches itself only";
  EXPECT_EQ(document->FindText("alpha", 1, true, {}), 0);
  EXPECT_EQ(document->FindText("delta", 0, false, {}), -1);
}

TEST(Syntax, PiecesAreTheLine) {
  for (std::string_view line :
       {"  ROOT %a.1 = f32[2,3]{1,0} add(%b, %c), metadata={op_name=\"x\\\"y\"} // end",
        "define void @f(ptr %0) { ; comment", "\xff\x01 \"open", ""}) {
    for (dump::FileKind kind :
         {dump::FileKind::kHloText, dump::FileKind::kLlvmIr, dump::FileKind::kPtx}) {
      std::string whole;
      for (const Piece& piece : ColorLine(line, kind)) whole += piece.text;
      EXPECT_EQ(whole, line);
    }
  }
}

TEST(Syntax, FoldsWhatIsLong) {
  constexpr auto kHlo = dump::FileKind::kHloText;
  EXPECT_EQ(FoldLine("c = f32[9] constant({1, 2, 3, 4, 5, 6, 7, 8, 9})", kHlo),
            "c = f32[9] constant({…})");
  EXPECT_EQ(FoldLine("a = f32[] add(b, c), metadata={op_name=\"jit(f)/a}long enough\"}, x=1", kHlo),
            "a = f32[] add(b, c), metadata={…}, x=1");
  EXPECT_EQ(FoldLine("a = constant({1, 2})", kHlo), "a = constant({1, 2})");
  EXPECT_EQ(FoldLine("metadata={never closed and long enough to fold", kHlo),
            "metadata={never closed and long enough to fold");
}

std::string Marked(const std::vector<WordPiece>& pieces) {
  std::string out;
  for (const WordPiece& piece : pieces)
    out += piece.changed ? "[" + std::string(piece.text) + "]" : std::string(piece.text);
  return out;
}

TEST(WordDiff, MarksWordsOfOneSide) {
  WordDiff diff = DiffWords("add(a.1, b), x=1", "add(a.2, b), y, x=1");
  EXPECT_EQ(Marked(diff.before), "add([a.1], b), x=1");
  EXPECT_EQ(Marked(diff.after), "add([a.2], b)[, y], x=1");
  std::string before, after;
  for (int i = 0; i < 900; ++i) {
    before += "b" + std::to_string(i) + " ";
    after += "a" + std::to_string(i) + " ";
  }
  diff = DiffWords(before, after);
  std::string whole;
  for (const WordPiece& piece : diff.before) whole += piece.text;
  EXPECT_EQ(whole, before) << "long lines are not lost";
}

TEST(TextLine, NamesOnLines) {
  constexpr auto kHlo = dump::FileKind::kHloText;
  EXPECT_EQ(NameOnLine("  ROOT %fusion.3 = (f32[], s32[]) fusion(%a)", kHlo), "fusion.3");
  EXPECT_EQ(NameOnLine("ENTRY %main {", kHlo), "");
  EXPECT_EQ(NameOnLine(" value: <12 fusion.3{0} @0> (size=4,offset=0): f32[]",
                       dump::FileKind::kBufferAssignment),
            "fusion.3");
  EXPECT_EQ(NameOnLine("allocation 0: size 4", dump::FileKind::kBufferAssignment), "");
  EXPECT_EQ(LineOf("a\nb\r\nc", 2), "b");
  EXPECT_EQ(LineOf("a\nb", 9), "");
}

TEST(SearchIndex, BestFitsFirst) {
  auto dump = dump::DumpModel::Open(SourcePath("samples/mlp_train_step"), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  TaskControl control;
  auto index = SearchIndex::Build(**dump, control);
  ASSERT_TRUE(index);
  std::vector<SearchHit> hits = (*index)->Find("DOT", 50, {});
  ASSERT_FALSE(hits.empty());
  EXPECT_TRUE(hits[0].text.starts_with("dot")) << hits[0].text;
  EXPECT_EQ(hits[0].selection.kind, SelectionKind::kInstruction);
  EXPECT_TRUE((*index)->Find("no such name", 50, {}).empty());
  EXPECT_EQ((*index)->Find("a", 3, {}).size(), 3u);
  EXPECT_TRUE((*index)->Find("  ", 50, {}).empty());
}

TEST(SelectionText, NamesThatWereMistypedAreGuessed) {
  const auto dump = dump::DumpModel::Open(SourcePath("samples/mlp_train_step"), Limits{});
  ASSERT_TRUE(dump);
  const std::string module = (*dump)->modules()[0].name;
  const auto other = SelectionFromText(**dump, "x" + module);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().hint, "did you mean `" + module + "`?");
  EXPECT_EQ(other.error().place.file, (*dump)->path());
  const auto instruction = SelectionFromText(**dump, module + ":paramete.1");
  ASSERT_FALSE(instruction);
  EXPECT_EQ(instruction.error().place.file, (*dump)->path());
  EXPECT_TRUE(instruction.error().hint.starts_with("did you mean `param"))
      << instruction.error().hint;
}

TEST(Commands, ChordsAreSoundAndUnique) {
  std::map<std::pair<std::string_view, int>, std::string_view> owners;
  std::set<std::string_view> ids;
  for (const CommandRow& row : CommandRows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    std::string_view rest = row.keys;
    while (!rest.empty()) {
      size_t end = std::min(rest.find(' '), rest.size());
      int chord = ChordFromText(rest.substr(0, end));
      EXPECT_NE(chord, 0) << row.id << ": " << rest.substr(0, end);
      std::string_view when = row.when == "open" ? "always" : row.when;
      EXPECT_TRUE(owners.emplace(std::pair(when, chord), row.id).second)
          << row.id << ": " << rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  EXPECT_EQ(ChordFromText("Ctrl+Nonsense"), 0);
}

// A training step: parameters and momentum of one shape, a value kept for the backward pass, one
// that is not, a gradient.
constexpr const char* kStep = R"(HloModule jit_step
ENTRY e {
  w = f32[4] parameter(0), metadata={op_name="p['w']"}
  m = f32[4] parameter(1), metadata={op_name="m['w']"}
  v = f32[8] parameter(2), metadata={op_name="v"}
  kept = f32[4] exponential(w), metadata={op_name="jit(step)/jvp(layer_3)/exp"}
  plain = f32[4] negate(kept), metadata={op_name="jit(step)/jvp(layer_3)/neg"}
  gradient = f32[4] multiply(kept, kept), metadata={op_name="jit(step)/transpose(jvp(layer_3))/mul"}
  ROOT out = f32[4] add(gradient, plain), metadata={op_name="jit(step)/add"}
}
)";

TEST(MemoryGroups, AddUpToThePeakAndKnowTheirUse) {
  const hlo::ParseResult parsed = hlo::ParseText(kStep);
  ASSERT_TRUE(parsed.ok());
  dump::BufferTable table;
  table.source = dump::BufferSource::kText;
  table.program = {"w", "m", "v", "kept", "plain", "gradient", "out"};
  auto add_value = [&](std::string name, int32_t allocation, int64_t offset, int64_t bytes) {
    dump::BufferValue value;
    value.id = std::ssize(table.values);
    value.allocation = allocation;
    value.offset = offset;
    value.size = bytes;
    value.instruction = std::move(name);
    value.live_start = 0;
    value.live_end = 6;
    table.values.push_back(value);
  };
  auto add = [&](std::string name, int64_t parameter, int64_t bytes) {
    dump::BufferAllocation allocation;
    allocation.index = std::ssize(table.allocations);
    allocation.size = bytes;
    allocation.parameter_number = parameter;
    table.allocations.push_back(allocation);
    add_value(std::move(name), static_cast<int32_t>(allocation.index), 0, bytes);
  };
  add("w", 0, 160);
  add("m", 1, 80);
  add("v", 2, 40);
  add("kept", -1, 20);
  add("plain", -1, 10);
  add("gradient", -1, 5);
  // A part of "kept" under another name counts once.
  add_value("plain", 3, 4, 8);
  const MemoryPlan plan = PlanOf(table);
  const MemoryGroups groups = GroupsOf(table, plan, parsed.module.get());
  EXPECT_EQ(groups.total, plan.peak);
  EXPECT_EQ(groups.total, 315);
  std::map<std::string_view, MemoryGroup> by_title;
  for (const MemoryGroup& group : groups.groups) by_title[TitleOf(group.use)] = group;
  EXPECT_EQ(by_title["optimiser state"].bytes, 80) << "m stands beside p, v alone is an argument";
  EXPECT_EQ(by_title["parameters"].bytes, 200);
  EXPECT_EQ(by_title["parameters"].largest, 0);
  EXPECT_EQ(by_title["activations"].bytes, 20);
  EXPECT_EQ(by_title["backward pass"].bytes, 5);
  EXPECT_EQ(by_title["temporaries"].bytes, 10);
  ASSERT_EQ(by_title["activations"].words.size(), 1u);
  EXPECT_EQ(by_title["activations"].words[0].first, "layer_*");
  EXPECT_EQ(GroupsOf(table, plan, nullptr).total, 315) << "without the module";
}

// A copy that layout assignment makes has the argument's name and no scope.
TEST(MemoryGroups, ACopyOfAnArgumentIsNamedAsTheArgument) {
  const hlo::ParseResult parsed = hlo::ParseText(
      "HloModule m\nENTRY e {\n  a = f32[4] parameter(0), metadata={op_name=\"a\"}\n"
      "  c = f32[4] copy(a), metadata={op_name=\"a\"}\n  d = f32[4] copy(c)\n"
      "  ROOT r = f32[4] negate(d), metadata={op_name=\"jit(f)/neg\"}\n}\n");
  ASSERT_TRUE(parsed.ok());
  dump::BufferTable table;
  table.source = dump::BufferSource::kText;
  table.program = {"a", "c", "d", "r"};
  for (const char* name : {"c", "d", "r"}) {
    dump::BufferAllocation allocation;
    allocation.index = std::ssize(table.allocations);
    allocation.size = 16;
    allocation.parameter_number = -1;
    table.allocations.push_back(allocation);
    dump::BufferValue value;
    value.id = value.allocation = static_cast<int32_t>(allocation.index);
    value.size = 16;
    value.instruction = name;
    value.live_start = 0;
    value.live_end = 3;
    table.values.push_back(value);
  }
  std::map<int32_t, std::vector<std::string>> scopes;
  for (const PeakValue& value : PeakValuesOf(table, PlanOf(table), *parsed.module)) {
    scopes[value.value] = value.scope;
  }
  EXPECT_EQ(scopes[0], std::vector<std::string>{"a"});
  EXPECT_EQ(scopes[1], std::vector<std::string>{"a"});
  EXPECT_EQ(scopes[2], std::vector<std::string>()) << "not a scope without a name";
}

TEST(MemoryGroups, ScopesOfTheProgram) {
  EXPECT_EQ(ScopeWords("jit(f)/transpose(jvp(block_3))/attention/dot_general"),
            "block_*/attention");
  EXPECT_EQ(ScopeWords("jit(f)/while/body/closed_call/add"), "");
  EXPECT_EQ(ScopeWords("jit(f)/jvp(jit(log_softmax))/sub"), "log_softmax");
  EXPECT_EQ(ScopeWords("add"), "");
}

TEST(DumpFacts, FilterAndOrder) {
  const auto opened = dump::DumpModel::Open(SourcePath("samples"), Limits{});
  ASSERT_TRUE(opened) << opened.error().ToString();
  const dump::DumpModel& dump = **opened;
  DumpFacts facts;
  for (size_t m = 0; m < dump.modules().size(); ++m)
    facts.modules.push_back(FindModuleFacts(dump, static_cast<int32_t>(m)));
  auto ordered = [&](ModuleColumn by, bool descending, std::string_view filter = {}) {
    return OrderModules(dump, &facts, nullptr, by, descending, filter);
  };
  auto count = [&](int32_t m) {
    return NumberIn(dump, m, facts.modules[static_cast<size_t>(m)].get(), nullptr,
                    ModuleColumn::kCompiled);
  };
  const std::vector<int32_t> largest = ordered(ModuleColumn::kCompiled, true);
  ASSERT_EQ(largest.size(), dump.modules().size());
  for (size_t i = 1; i < largest.size(); ++i) EXPECT_GE(count(largest[i - 1]), count(largest[i]));
  const std::vector<int32_t> names = ordered(ModuleColumn::kName, false);
  for (size_t i = 1; i < names.size(); ++i) {
    EXPECT_LE(dump.modules()[static_cast<size_t>(names[i - 1])].name,
              dump.modules()[static_cast<size_t>(names[i])].name);
  }
  const std::vector<int32_t> found = ordered(ModuleColumn::kCompiled, true, "CONV_net/");
  ASSERT_FALSE(found.empty());
  for (int32_t m : found)
    EXPECT_EQ(dump.modules()[static_cast<size_t>(m)].folder.substr(0, 8), "conv_net");
  EXPECT_LT(found.size(), largest.size());
  EXPECT_TRUE(ordered(ModuleColumn::kName, true, "no such module").empty());
}

TEST(DumpFacts, BeforeOptimizationsNothingIsCompiled) {
  const auto opened = dump::DumpModel::Open(
      SourcePath("samples/softmax_passes_a100/module_0000.jit_softmax.before_optimizations.txt"),
      Limits{});
  ASSERT_TRUE(opened) << opened.error().ToString();
  const auto facts = FindModuleFacts(**opened, 0);
  const auto number = [&](ModuleColumn column) {
    return NumberIn(**opened, 0, facts.get(), nullptr, column);
  };
  EXPECT_FALSE(facts->compiled);
  EXPECT_EQ(number(ModuleColumn::kBefore), facts->instructions);
  EXPECT_EQ(number(ModuleColumn::kCompiled), -1);
  EXPECT_EQ(number(ModuleColumn::kFusions), -1);
}

TEST(OutsideTable, CountsByReasonAndOperation) {
  dump::TensorFlowSummary summary;
  auto add = [&](const char* name, const char* op, const char* reason) {
    dump::TensorFlowNode node;
    node.name = name;
    node.op = op;
    node.reason = reason;
    summary.unclustered.push_back(node);
  };
  add("a", "Unique", "size");
  add("b", "PyFunc", "Python");
  add("c", "PyFunc", "Python");
  add("d", "PyFunc", "");
  // What nobody wrote, and what eager mode runs, is in no cluster by its nature.
  add("x", "_Arg", "an argument");
  add("y", "MatMul", "eager");
  summary.unclustered.back().eager = true;
  EXPECT_EQ(OutsideText(summary), "4 TensorFlow nodes run outside all clusters");
  const std::vector<OutsideNodes> rows = OutsideTable(summary);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].reason, "Python");
  EXPECT_EQ(rows[0].names, (std::vector<std::string>{"b", "c"}));
}

TEST(Picture, CutsInside) {
  Picture picture{.width = 3, .height = 2, .rgb = std::vector<uint8_t>(18)};
  for (size_t i = 0; i < 18; ++i) picture.rgb[i] = static_cast<uint8_t>(i);
  Picture cut = picture.Cut(1, 1, 100, 100);
  EXPECT_EQ(cut.width, 2);
  EXPECT_EQ(cut.height, 1);
  EXPECT_EQ(cut.rgb.front(), 12);
  auto png = ToPng(picture);
  ASSERT_TRUE(png);
  EXPECT_TRUE(png->starts_with("\x89PNG"));
  EXPECT_FALSE(ToPng(picture.Cut(9, 9, 1, 1)));
}

}  // namespace
}  // namespace hloscope::viewer
