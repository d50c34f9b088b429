// Module images: everything of a module comes back, and no garbled image does harm.
#include "core/hlo/module_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/text/text.h"
#include "tests/base/paths.h"

namespace hloscope::hlo {
namespace {

using ModulePointer = std::shared_ptr<const Module>;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void AddText(const std::string& text, std::vector<ModulePointer>& modules) {
  ParseResult parsed = ParseText(text);
  if (parsed.ok()) modules.push_back(std::move(parsed.module));
}

// The modules of the golden tests and the samples, as texts and protos.
std::vector<ModulePointer> AllModules() {
  std::vector<ModulePointer> modules;
  const std::filesystem::path root = SourcePath();
  for (const char* folder : {"tests/golden", "tests/nan_origin", "tests/corpus", "samples"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path();
      if (!entry.is_regular_file()) continue;
      const std::string bytes = ReadFile(path);
      if (path.ends_with(".pb")) {
        auto read = ReadProto(std::as_bytes(std::span(bytes)));
        if (read.has_value() && read->module != nullptr) modules.push_back(read->module);
        continue;
      }
      std::istringstream lines(bytes);
      std::string text;
      for (std::string line; std::getline(lines, line);) {
        if (line != "// -----") {
          text += line + "\n";
          continue;
        }
        AddText(text, modules);
        text.clear();
      }
      AddText(text, modules);
    }
  }
  return modules;
}

Result<ModulePointer> Read(std::string_view image) {
  auto owner = std::make_shared<const std::string>(image);
  return ModuleFromImage(std::as_bytes(std::span(*owner)), owner);
}

TEST(ModuleImage, EverythingComesBack) {
  const auto modules = AllModules();
  ASSERT_GT(modules.size(), 200u);
  for (const ModulePointer& module : modules) {
    SCOPED_TRACE(std::string(module->name()));
    const std::string image = ModuleToImage(*module);
    const auto copy = Read(image);
    ASSERT_TRUE(copy.has_value()) << copy.error().message;
    EXPECT_EQ(ModuleToImage(**copy), image);
    std::string text, copied;
    PrintText(*module, TextFormat::kHlo, text);
    PrintText(**copy, TextFormat::kHlo, copied);
    EXPECT_EQ(text, copied);
    EXPECT_EQ(ModuleToProto(*module), ModuleToProto(**copy));
    ASSERT_EQ(module->instructions().size(), (*copy)->instructions().size());
    for (uint32_t i = 0; i < module->instructions().size(); ++i) {
      EXPECT_EQ(module->name(InstructionId(i)), (*copy)->name(InstructionId(i)));
      EXPECT_EQ(module->source_offset(InstructionId(i)), (*copy)->source_offset(InstructionId(i)));
    }
  }
}

// What neither of the two forms on disk keeps.
TEST(ModuleImage, KeepsWhatTextAndProtoLose) {
  const ParseResult parsed = ParseText(R"(HloModule m, nobody_knows={1}
f {
  p = f32[] parameter(0)
  ROOT same = f32[] add(p, p)
}
g {
  p = f32[] parameter(0)
  ROOT same = f32[] multiply(p, p), unheard_of="x"
}
ENTRY e {
  c = f32[100] constant({...})
  d = f32[<=4] parameter(0)
  x = f32[] parameter(1)
  a = f32[] call(x), to_apply=f
  b = f32[] call(a), to_apply=g
  ROOT t = (f32[100], f32[], f32[<=4]) tuple(c, b, d)
})");
  ASSERT_TRUE(parsed.ok()) << (parsed.diagnostics.empty() ? "" : parsed.diagnostics[0].message);
  const auto copy = Read(ModuleToImage(*parsed.module));
  ASSERT_TRUE(copy.has_value());
  std::string text, copied;
  PrintText(*parsed.module, TextFormat::kHlo, text);
  PrintText(**copy, TextFormat::kHlo, copied);
  EXPECT_EQ(text, copied);
  EXPECT_NE(copied.find("{...}"), std::string::npos);
  EXPECT_NE(copied.find("unheard_of"), std::string::npos);
  EXPECT_NE(copied.find("nobody_knows"), std::string::npos);
}

TEST(ModuleImage, LargeConstantsAreNotCopied) {
  std::string text = "HloModule m\nENTRY e { ROOT c = f32[4096] constant({0";
  for (int i = 1; i < 4096; ++i) text += "," + std::to_string(i);
  const ParseResult parsed = ParseText(text + "}) }");
  ASSERT_TRUE(parsed.ok());
  auto image = std::make_shared<const std::string>(ModuleToImage(*parsed.module));
  const auto copy = ModuleFromImage(std::as_bytes(std::span(*image)), image);
  ASSERT_TRUE(copy.has_value());
  const auto* value =
      (*copy)->Get<Literal>((*copy)->instructions()[0], AttributeKey::kConstantValue);
  ASSERT_NE(value, nullptr);
  const auto* data = reinterpret_cast<const char*>(value->bytes().data());
  EXPECT_GE(data, image->data());
  EXPECT_LT(data, image->data() + image->size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % alignof(float), 0u);
}

// Asks a module for all that it has.
void UseAll(const Module& module) {
  std::string text;
  for (const TextFormat format :
       {TextFormat::kHlo, TextFormat::kElided, TextFormat::kShort, TextFormat::kCanonical}) {
    PrintText(module, format, text);
  }
  text += ModuleToProto(module);
  text += ModuleToImage(module);
  UserIndex users(module);
  CallGraph calls(module);
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    for (const InstructionId user : users.users(id)) text += module.name(user);
    for (const ComputationId called : module.CalledComputations(module[id])) {
      text += module[module[called].name];
    }
  }
  EXPECT_FALSE(text.empty());
}

// With what no module of the golden tests has.
constexpr const char* kRareAttributes = R"(HloModule rare
ENTRY e {
  x = f32[8]{0} parameter(0), parameter_replication={true}, sharding={mesh['x'=2], [{'x'}]}
  i = s32[] parameter(1), control-predecessors={x}
  y = f32[8]{0} tanh(x), result_accuracy={tolerance={atol=1e-3,rtol=0,ulps=2}}, origin={{"o"}}, statistics={visualizing_index=0,a=1}, unheard_of="x", backend_config="b"
  d = f32[8]{0} domain(y), domain={kind="sharding", entry={replicated}, exit={maximal device=1}}
  c = f32[8]{0} custom-call(d), custom_call_target="t", operand_layout_constraints={f32[8]{0}}, output_to_operand_aliasing={{}: (0, {})}
  m = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}, operand_precision={high,highest}
  n = token[] after-all()
  o = token[] outfeed(c, n), outfeed_shape=f32[8]{0}
  ROOT r = f32[8]{0} copy(c)
})";

// Modules with all kinds of values of attributes, as small ones as there are.
std::vector<ModulePointer> OneOfEachKind() {
  auto modules = AllModules();
  AddText(kRareAttributes, modules);
  std::ranges::stable_sort(
      modules, {}, [](const ModulePointer& module) { return ModuleToImage(*module).size(); });
  std::set<ValueKind> seen;
  std::vector<ModulePointer> out;
  for (const ModulePointer& module : modules) {
    const size_t before = seen.size();
    for (const Instruction& i : module->instructions()) {
      for (const Attribute& a : module->attributes(i)) seen.insert(Info(a.key).kind);
    }
    if (seen.size() > before) out.push_back(module);
  }
  for (int kind = 0; kind <= static_cast<int>(ValueKind::kRaw); ++kind) {
    EXPECT_TRUE(seen.contains(static_cast<ValueKind>(kind))) << kind;
  }
  return out;
}

// Every number of an image, ids inside the values of attributes among them, becomes one that leads
// nowhere: the image is refused, or everything of the module is still there.
TEST(ModuleImage, IdsThatLeadNowhereAreRefusedWhereverTheyAre) {
  size_t refused = 0, used = 0;
  for (const ModulePointer& module : OneOfEachKind()) {
    SCOPED_TRACE(std::string(module->name()));
    const std::string image = ModuleToImage(*module);
    const size_t step = 1 + image.size() / 4000;
    for (size_t at = 0; at + sizeof(uint32_t) <= image.size(); at += step) {
      for (const uint32_t value : {0xffff'ffffu, 0x7fff'ffffu, 0xffffu}) {
        std::string changed = image;
        std::memcpy(changed.data() + at, &value, sizeof value);
        const auto read = Read(changed);
        ++(read ? used : refused);
        if (read) UseAll(**read);
      }
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(used, 1000u);
}

// The form of values without bytes (the sixth) holds no shape that has some.
TEST(ModuleImage, AnArrayWithoutItsBytesIsRefused) {
  const Shape array = Shape::Array(ElementType::kF32, {1024});
  for (const Shape& shape : {array, Shape::Tuple({array}), Shape::Token()}) {
    ByteWriter out;
    out(uint8_t{5}, shape);
    const std::string bytes = std::move(out).Take();
    ByteReader in(std::as_bytes(std::span(bytes)));
    Literal literal;
    Archive(in, literal);
    EXPECT_EQ(in.ok(), shape.IsToken());
  }
}

TEST(ModuleImage, CutOffOrGarbledIsAnErrorOrSound) {
  const auto modules = AllModules();
  std::mt19937_64 random(7);
  for (size_t m = 0; m < modules.size(); m += 17) {
    const std::string image = ModuleToImage(*modules[m]);
    for (int round = 0; round < 40; ++round) {
      EXPECT_FALSE(Read(image.substr(0, random() % image.size())).has_value());
      std::string changed = image;
      for (int k = 0; k < 3; ++k) {
        char& c = changed[random() % changed.size()];
        c = static_cast<char>(c ^ static_cast<char>(random() & 0x7f));
      }
      (void)Read(changed);
    }
  }
}

}  // namespace
}  // namespace hloscope::hlo
