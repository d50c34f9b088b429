// Modules inside of other files: several in a text, saved tensors, logs, archives; hostile ones.
#include "core/dump/container.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/zip.h"
#include "core/dump/dump_model.h"
#include "core/dump/load.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAdd =
    "HloModule add_it\n\nENTRY main {\n  a = f32[4]{0} parameter(0)\n  ROOT s = f32[4]{0} add(a, "
    "a)\n}\n";
constexpr std::string_view kBroken =
    "HloModule broken\n\nENTRY main {\n  a = f32[4]{0} parameter(0)\n  ROOT s = f32[4]{0} "
    "ad(a)\n}\n";

ModuleParts PartsOf(std::string_view text) { return FindModuleParts(text, Sniff(text), Limits{}); }

std::string EachLine(std::string_view text, std::string_view prefix) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out += std::string(prefix) + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(end + 1);
  }
  return out;
}

LoadedModule LoadPart(const std::string& text, const ModulePart& part) {
  auto loaded = LoadModule(PartView(FileView::FromBytes("f", text), part), Limits{});
  EXPECT_TRUE(loaded) << loaded.error().ToString();
  return loaded ? *std::move(loaded)
                : LoadedModule{"", FileView::FromBytes("", ""), {}, {}, {}, {}};
}

TEST(ModuleParts, AreDividedByXlasMarkOrTheNextHeader) {
  const std::string text = "// RUN: x\n" + std::string(kAdd) + "\n// -----\n\n" +
                           std::string(kBroken) + std::string(kAdd) + "// -----\n// nothing\n";
  const ModuleParts found = PartsOf(text);
  ASSERT_EQ(found.parts.size(), 3u);
  EXPECT_EQ(found.parts[0].selector, "1") << "the name stands twice";
  EXPECT_EQ(found.parts[1].selector, "broken");
  EXPECT_TRUE(LoadPart(text, found.parts[0]).module);
  const LoadedModule broken = LoadPart(text, found.parts[1]);
  ASSERT_FALSE(broken.module);
  EXPECT_EQ(Places(broken).Of(broken.diagnostics.front()).line, 15u) << "of the file";
  EXPECT_TRUE(LoadPart(text, found.parts[2]).module);
  EXPECT_TRUE(PartsOf(kAdd).parts.empty());
  EXPECT_TRUE(PartsOf(std::string(kAdd) + "// -----\n").parts.empty());
}

TEST(ModuleParts, OfSavedTensorsHaveHashAndLine) {
  const std::string frames =
      "[ScheduleSyncTensorsGraph]\nTensorsGraphInfo:\n"
      "  mark_step (/v/lib/python3.10/site-packages/torch_xla/core/xla_model.py:891)\n"
      "  <module> (/home/u/demo.py:9)\n\n";
  const std::string text = frames + "Hashes: (3a1f)\n\n## BEGIN_GRAPH\n" + std::string(kAdd) +
                           "\n\n## END_GRAPH\n\n" + frames +
                           "Root Hashes: (77)\n\n## BEGIN_GRAPH\n" + std::string(kBroken) +
                           "\n\nGraph Hash: 5ef2\n\n## END_GRAPH\n\n";
  const ModuleParts found = PartsOf(text);
  ASSERT_EQ(found.parts.size(), 2u);
  EXPECT_EQ(found.parts[0].name, "add_it");
  EXPECT_EQ(found.parts[0].hash, "3a1f");
  EXPECT_EQ(found.parts[0].place, "/home/u/demo.py:9");
  EXPECT_EQ(found.parts[1].hash, "5ef2") << "of the graph, which stands behind it";
  EXPECT_TRUE(LoadPart(text, found.parts[0]).module);
  const ModuleParts ir = PartsOf(frames +
                                 "Hashes: (3a1f)\n\n## BEGIN_GRAPH\nIR {\n  %0 = f32[] "
                                 "prim::Constant(), xla_shape=f32[]\n}\n## END_GRAPH\n");
  EXPECT_TRUE(ir.parts.empty());
  EXPECT_EQ(ir.graphs_of_ir, 1u);
}

TEST(ModuleParts, OfLogsWithAnyPrefix) {
  const std::string mlir =
      "module @jit_f {\n  func.func @main() {\n    return\n  }\n}\n#loc = loc(unknown)\n";
  for (const std::string prefix :
       {"", "I0000 00:00:1795667464.650349   27410 hlo_pass_pipeline.cc:12] ",
        "2021-02-10 03:53:38.327164: E     463 tensorflow/xla_client/xla_util.cc:98] ",
        "I0521 12:04:45.883483    1509 hlo_computation.cc:186] ", "[rank0]: ", "E   "}) {
    const std::string text = "Traceback (most recent call last):\nstarting HloModule jit_f now\n" +
                             EachLine(kAdd, prefix) + "and then more\n" + EachLine(mlir, prefix) +
                             "the end\n";
    const ModuleParts found = PartsOf(text);
    ASSERT_EQ(found.parts.size(), 2u) << prefix;
    const LoadedModule added = LoadPart(text, found.parts[0]);
    ASSERT_TRUE(added.module) << prefix;
    EXPECT_EQ(added.module->name(), "add_it");
    EXPECT_EQ(found.parts[1].kind, FileKind::kStableHloText);
    const FileView program = PartView(FileView::FromBytes("f", text), found.parts[1]);
    EXPECT_TRUE(program.bytes().ends_with("#loc = loc(unknown)") ||
                program.bytes().ends_with("#loc = loc(unknown)\n"))
        << program.bytes();
  }
}

// A module as text proto with braces and quotes in its strings; `wrapped`: in an HloProto.
std::string AddAsTextProto(bool wrapped) {
  std::string text(kAdd);
  text.insert(text.find("add(a, a)") + 9, R"(, metadata={op_name="jit(f)/{ \"}\" #"})");
  const hlo::ParseResult parsed = hlo::ParseText(text, Limits{});
  EXPECT_TRUE(parsed.module);
  hlo::ProtoFile file;
  file.module = parsed.module;
  std::string proto = hlo::HloToTextProto(file);
  if (wrapped) return proto;
  proto = proto.substr(proto.find('\n') + 1);
  return proto.substr(0, proto.rfind('}'));
}

TEST(ModuleParts, OfTextProtosInLogs) {
  for (const bool wrapped : {true, false}) {
    for (const std::string prefix :
         {"", "I0000 00:00:1795667464.650349   27410 dump.cc:12] ", "[rank0]: ", "E   "}) {
      const std::string proto = EachLine(AddAsTextProto(wrapped), prefix);
      const std::string text = "step 1: writes hlo_module now\n" + proto + "loss: 0.5\n" + proto +
                               "worker {\n  name: \"w\"\n}\n";
      const ModuleParts found = PartsOf(text);
      ASSERT_EQ(found.parts.size(), 2u) << prefix << wrapped << Describe(Sniff(text));
      for (const ModulePart& part : found.parts) {
        EXPECT_EQ(part.name, "add_it");
        const LoadedModule added = LoadPart(text, part);
        ASSERT_TRUE(added.module) << prefix << wrapped;
        EXPECT_EQ(added.module->name(), "add_it");
      }
    }
  }
  const std::string proto = AddAsTextProto(true);
  EXPECT_TRUE(PartsOf(proto).parts.empty()) << "a file of its own";
  EXPECT_EQ(PartsOf(proto + proto).parts.size(), 2u);
  // What breaks off is read, so that the error has a place in the log.
  const std::string broken = "step 1\n" + proto.substr(0, proto.find("operand_ids"));
  const ModuleParts found = PartsOf(broken);
  ASSERT_EQ(found.parts.size(), 1u);
  const LoadedModule loaded = LoadPart(broken, found.parts.front());
  ASSERT_FALSE(loaded.module);
  EXPECT_GT(Places(loaded).Of(loaded.diagnostics.front()).line, 30u);
  EXPECT_TRUE(PartsOf("step 1\nhlo_module {\n  no: 1\n}\n").parts.empty());
}

// A whole module behind one that breaks off is found, whether or not they are in an HloProto.
TEST(ModuleParts, OfATextProtoBehindABrokenOne) {
  const auto in_first_column = [](bool wrapped) {
    std::string text = AddAsTextProto(wrapped);
    if (wrapped) return text;
    text.erase(0, 2);
    for (size_t at = text.find("\n  "); at != text.npos; at = text.find("\n  ", at + 1))
      text.erase(at + 1, 2);
    return text;
  };
  for (const bool first : {true, false}) {
    for (const bool second : {true, false}) {
      for (const std::string prefix : {"", "[rank0]: "}) {
        const std::string whole = in_first_column(first);
        const size_t cut = whole.rfind('\n', whole.find("operand_ids"));
        const std::string broken = whole.substr(0, cut + 1);
        const std::string text = "step 1\n" + EachLine(broken, prefix) +
                                 EachLine(in_first_column(second), prefix) + "end\n";
        const ModuleParts found = PartsOf(text);
        ASSERT_EQ(found.parts.size(), 2u) << first << second << prefix;
        EXPECT_FALSE(LoadPart(text, found.parts[0]).module);
        EXPECT_TRUE(LoadPart(text, found.parts[1]).module) << first << second << prefix;
      }
    }
  }
}

TEST(ModuleParts, LinesOfOtherThreadsAreNotOfTheModule) {
  std::string text = EachLine(kAdd, "I0521 12:04:45.883483    1509 a.cc:1] ");
  text.insert(
      text.find("  ROOT") - std::string_view("I0521 12:04:45.883483    1509 a.cc:1] ").size(),
      "I0521 12:04:45.883483    1510 b.cc:7] something else {\n");
  text = "2021-02-10 03:53:38.327164: I b.cc:98] begins\n" + text;
  const ModuleParts found = PartsOf(text);
  ASSERT_EQ(found.parts.size(), 1u);
  EXPECT_TRUE(LoadPart(text, found.parts[0]).module);
}

TEST(ModuleParts, AreNoMoreThanTheLimit) {
  std::string text;
  for (int k = 0; k < 50; ++k) text += kAdd;
  Limits limits;
  limits.archive_members = 10;
  const ModuleParts found = FindModuleParts(text, Sniff(text), limits);
  EXPECT_EQ(found.parts.size(), 10u);
  EXPECT_EQ(found.left_out, 40);
}

class Containers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hloscope-container-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

// A tar header with its sum.
std::string TarMember(std::string name, std::string_view bytes, char type = '0',
                      std::string size = "") {
  std::string header(512, '\0');
  const auto put = [&](size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, name);
  if (size.empty()) {
    for (size_t n = bytes.size(); n > 0; n /= 8)
      size.insert(size.begin(), static_cast<char>('0' + n % 8));
  }
  put(124, size);
  put(136, "14000000000");
  put(148, "        ");
  header[156] = type;
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  int sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::string octal;
  for (int n = sum; n > 0; n /= 8) octal.insert(octal.begin(), static_cast<char>('0' + n % 8));
  put(148, octal + std::string("\0 ", 2));
  std::string out = header + std::string(bytes);
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}
const std::string kTarEnd(1024, '\0');

TEST_F(Containers, TarIsAFolderWithoutWhatLeadsOut) {
  const std::string tar =
      TarMember("./ir/", "", '5', "0") + TarMember("./ir/m.hlo", kAdd) +
      TarMember("../out.hlo", kAdd) + TarMember("/abs.hlo", kAdd) +
      TarMember("ir/link.hlo", "", '2', "0") + TarMember("ir/hard", "", '1', "0") +
      TarMember("a/../../x", kAdd) + TarMember("ir/dev", "", '3', "0") +
      TarMember("all.hlo", std::string(kAdd) + "// -----\n" + std::string(kBroken)) + kTarEnd;
  const std::string path = Write("ir.TAR", tar);
  EXPECT_TRUE(IsFolder(path));
  auto model = DumpModel::Open(path, Limits{});
  ASSERT_TRUE(model) << model.error().ToString();
  EXPECT_EQ((*model)->modules().size(), 3u);
  EXPECT_EQ((*model)->warnings().size(), 6u);
  for (size_t m = 0; m < (*model)->modules().size(); ++m) {
    const auto module = (*model)->Module(static_cast<int32_t>(m), 0);
    EXPECT_EQ(module.has_value(), (*model)->modules()[m].name != "broken");
  }
  EXPECT_TRUE(LoadModule(path + "/ir/m.hlo", Limits{})->module);
  EXPECT_TRUE(LoadModule(path + "/all.hlo:add_it", Limits{})->module);
  for (const char* none : {"/../out.hlo", "/out.hlo", "/ir/link.hlo", "/ir", "/all.hlo:other", "/"})
    EXPECT_FALSE(LoadModule(path + none, Limits{})) << none;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing was written";
}

TEST_F(Containers, DamagedArchivesAreErrors) {
  const std::string good = TarMember("m.hlo", kAdd) + kTarEnd;
  std::string wrong_sum = good;
  wrong_sum[5] = 'x';
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>("a.tar", wrong_sum),
                                    {"b.tar", good.substr(0, 560)},
                                    {"c.tar", TarMember("m", "", '0', "77777777777") + kTarEnd},
                                    {"d.zip", "PK\x03\x04 and no more"},
                                    {"e.tgz", std::string(kAdd)},
                                    {"f.zip", ""}}) {
    const auto model = DumpModel::Open(Write(name, bytes), Limits{});
    ASSERT_FALSE(model) << name;
    EXPECT_EQ(model.error().error_class, ErrorClass::kInput) << name;
  }
}

TEST_F(Containers, ZipMembersAreBounded) {
  const std::string zeros(4 << 20, '0');
  const std::vector<ZipEntry> entries = {{"dir/m.hlo", kAdd, true}, {"big.txt", zeros, true}};
  const std::string path = Write("x.zip", *WriteZip(entries));
  EXPECT_TRUE(LoadModule(path + "/dir/m.hlo", Limits{})->module);
  Limits limits;
  limits.archive_member_bytes = 1 << 20;
  const auto model = DumpModel::Open(path, limits);
  EXPECT_TRUE(!model || (*model)->warnings().size() == 1u) << "the large one is not read";
  EXPECT_FALSE(OpenInput(path + "/big.txt", limits));
  Limits few;
  few.archive_members = 1;
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  EXPECT_FALSE(DumpModel::Open(path, few));
}

TEST_F(Containers, AModuleAmongTextIsTakenAndSeveralAreNamed) {
  const std::string log = Write(
      "run.log", "I0521 12:04:45.883483    1509 a.cc:1] hello\n" + std::string(kAdd) + "bye\n");
  const auto one = LoadModule(log, Limits{});
  ASSERT_TRUE(one) << one.error().ToString();
  EXPECT_TRUE(one->module);
  const std::string all = Write("all.hlo", std::string(kAdd) + "// -----\n" + std::string(kBroken));
  const auto several = LoadModule(all, Limits{});
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().hint.find("all.hlo:add_it"), std::string::npos) << several.error().hint;
  EXPECT_TRUE(LoadModule(all + ":add_it", Limits{})->module);
  EXPECT_TRUE(LoadModule(all + ":1", Limits{})->module);
  EXPECT_FALSE(LoadModule(all + ":3", Limits{}));
  Write("program.mlir", "module @f {\n}\n");
  const auto model = DumpModel::Open(folder_.string(), Limits{});
  ASSERT_TRUE(model);
  std::vector<std::string> names;
  for (const ModuleEntry& module : (*model)->modules()) names.push_back(module.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"add_it", "add_it", "broken", "program"}));
}

}  // namespace
}  // namespace hloscope::dump
