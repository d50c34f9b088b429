// Sentences of core/hlo/words.def for what an instruction has.
#include "app/reports/words_report.h"

#include <algorithm>
#include <vector>

#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"
#include "core/hlo/words.h"

namespace hloscope::app {
namespace {

constexpr size_t kPictureRows = 16, kPictureColumns = 16;

// Only TPUs have tiled layouts, and their spaces have meanings of their own.
std::string_view TiledDevice(const hlo::Module& module) {
  for (const hlo::Instruction& instruction : module.instructions()) {
    const hlo::Shape& shape = module[instruction.shape];
    for (const auto& [index, leaf] : shape.Leaves()) {
      const bool is_tiled = leaf->IsArray() && leaf->has_layout() &&
                            leaf->layout().extras != nullptr &&
                            !leaf->layout().extras->tiles.empty();
      if (is_tiled) return "tpu";
    }
  }
  return {};
}

// Where there is more to see than rows one after another.
std::string LayoutPicture(const hlo::Shape& shape) {
  const bool is_tiled = shape.IsArray() && shape.has_layout() && shape.layout().extras != nullptr &&
                        !shape.layout().extras->tiles.empty();
  const bool is_turned = shape.IsArray() && shape.has_layout() && shape.dimensions().size() > 1 &&
                         shape.layout().minor_to_major !=
                             hlo::Layout::Default(shape.dimensions().size()).minor_to_major;
  return is_tiled || is_turned ? hlo::TilingPicture(shape, kPictureRows, kPictureColumns)
                               : std::string();
}

// The distinct array shapes of a value.
std::vector<hlo::Shape> ArraysOf(const hlo::Shape& shape) {
  std::vector<hlo::Shape> out;
  for (const auto& [index, leaf] : shape.Leaves()) {
    if (leaf->IsArray() && std::ranges::find(out, *leaf) == out.end()) out.push_back(*leaf);
  }
  return out;
}

void WriteLayoutParts(JsonWriter& json, const hlo::Shape& shape, std::string_view device) {
  json.BeginObject().Field("shape", hlo::ToString(shape)).Key("parts").BeginArray();
  for (const hlo::LayoutPart& part : hlo::DescribeLayout(shape, device))
    json.BeginObject().Field("text", part.text).Field("meaning", part.meaning).EndObject();
  json.EndArray().Field("picture", LayoutPicture(shape)).EndObject();
}

}  // namespace

std::string LayoutText(const hlo::Shape& shape, std::string_view device) {
  std::string out = FormatText("{}\n", hlo::ToString(shape));
  for (const hlo::LayoutPart& part : hlo::DescribeLayout(shape, device))
    out += FormatText("  {}: {}\n", part.text, part.meaning);
  const std::string picture = LayoutPicture(shape);
  if (!picture.empty())
    out += "  where the elements of the last two dimensions lie in memory, counted in elements:\n" +
           picture;
  return out;
}

std::string LayoutJson(const hlo::Shape& shape, std::string_view device) {
  std::string out;
  JsonWriter json(out);
  WriteLayoutParts(json, shape, device);
  return out + "\n";
}

std::string ExplainText(const hlo::Module& module, hlo::InstructionId id) {
  hlo::InstructionPrinter printer(module, hlo::TextFormat::kHlo);
  const hlo::Opcode opcode = module[id].opcode;
  std::string out = FormatText("{}\n{}: {}\n", std::string(printer.Text(id)), hlo::ToString(opcode),
                               hlo::Describe(opcode));
  for (const hlo::Attribute& attribute : module.attributes(module[id])) {
    const std::string_view name = hlo::Info(attribute.key).text;
    out += FormatText("  {}: {}\n", name.empty() ? "in parentheses" : name,
                      hlo::Describe(attribute.key));
  }
  const std::string_view device = TiledDevice(module);
  for (const hlo::Shape& shape : ArraysOf(module.shape(id))) out += LayoutText(shape, device);
  const std::string source = hlo::ToString(hlo::SourceLineOf(module, id));
  if (!source.empty()) out += FormatText("from {}\n", source);
  return out;
}

std::string ExplainJson(const hlo::Module& module, hlo::InstructionId id) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("instruction", module.name(id));
  json.Field("opcode", hlo::ToString(module[id].opcode));
  json.Field("sentence", hlo::Describe(module[id].opcode)).Key("attributes").BeginArray();
  for (const hlo::Attribute& attribute : module.attributes(module[id])) {
    json.BeginObject().Field("name", hlo::Info(attribute.key).text);
    json.Field("sentence", hlo::Describe(attribute.key)).EndObject();
  }
  json.EndArray().Key("layouts").BeginArray();
  const std::string_view device = TiledDevice(module);
  for (const hlo::Shape& shape : ArraysOf(module.shape(id))) WriteLayoutParts(json, shape, device);
  json.EndArray();
  json.Field("source", hlo::ToString(hlo::SourceLineOf(module, id))).EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
