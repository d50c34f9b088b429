// `hloscope ops`: the opcode table, and how near each platform comes to the true value by element
// type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/reports/tiling_svg.h"
#include "app/reports/words_report.h"
#include "core/base/closest_text.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/eval/coverage.h"
#include "core/hlo/opcode.h"
#include "core/hlo/text/value_text.h"
#include "core/hlo/words.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {
namespace {

std::string Attributes(const hlo::OpcodeInfo& info) {
  std::string text;
  for (const hlo::AttributeUse& use : info.attributes) {
    if (!text.empty()) text += ' ';
    text += hlo::Info(use.key).text;
    if (use.required) text += '!';
  }
  return text;
}

std::vector<eval::CoverageRow> CoverageOf(std::string_view opcode) {
  std::vector<eval::CoverageRow> rows;
  std::ranges::copy_if(eval::CoverageRows(), std::back_inserter(rows),
                       [&](const eval::CoverageRow& row) { return row.opcode == opcode; });
  return rows;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

// A distance as a number of ULP, 0 where it is exact; the word itself where it is no number.
void AddDistance(JsonWriter& json, std::string_view distance) {
  double ulps = 0;
  const auto [end, error] =
      std::from_chars(distance.data(), distance.data() + distance.size(), ulps);
  if (distance == "exact" || error == std::errc()) {
    json.Value(ulps);
  } else {
    json.Value(distance);
  }
}

class OpsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "opcodes",
             .target = &names_,
             .help = "list only these opcodes; or what attributes and shapes mean, as "
                     "'f32[16,256]{1,0:T(8,128)}'",
             .value = "OPCODE"},
            {.name = "--device",
             .target = &device_,
             .help = "of shapes: the device whose memory spaces are meant",
             .value = "DEVICE",
             .choices = {"cpu", "gpu", "tpu"}},
            {.name = "--svg",
             .target = &svg_,
             .help = "of one shape: print a picture of its tiles and where its elements lie"}};
  }

  int Run(const Context& context) override {
    const bool has_shape =
        std::ranges::any_of(names_, [](const std::string& name) { return name.contains('['); });
    if (!device_.empty() && !has_shape) {
      const auto error = InputError("--device " + device_ + ": no shape is given",
                                    "`hloscope ops 'f32[16]{0:S(1)}' --device " + device_ + "`");
      return Fail({{"opcode", ""}}, error.error(), context);
    }
    if (svg_) return Svg(context);
    std::vector<hlo::Opcode> opcodes;
    std::string others;  // attributes and shapes
    for (const std::string& name : names_) {
      if (const std::optional<hlo::Opcode> opcode = hlo::OpcodeFromText(name)) {
        opcodes.push_back(*opcode);
      } else if (name.contains('[')) {
        const Result<hlo::Shape> shape = ShapeOf(name, context.limits);
        if (!shape) return Fail({{"shape", name}}, shape.error(), context);
        others += context.json ? LayoutJson(*shape, device_) : LayoutText(*shape, device_);
      } else {
        const std::string found = AttributeWords(name, context.json);
        if (found.empty()) return Unknown(name, context);
        others += found;
      }
    }
    for (int k = 0; names_.empty() && k < hlo::kOpcodeCount; ++k) {
      opcodes.push_back(static_cast<hlo::Opcode>(k));
    }
    WriteOut(others);
    if (opcodes.empty()) return kGood;
    if (!context.json)
      WriteOut(
          "opcode                     operands  attributes (! is required)\n"
          "    what it computes\n"
          "    largest error of the interpreter in ULP: element types\n");
    for (hlo::Opcode opcode : opcodes) {
      WriteOut(context.json ? Json(hlo::Info(opcode)) : Text(hlo::Info(opcode)));
    }
    return kGood;
  }

 private:
  int Svg(const Context& context) const {
    const std::string name = names_.size() == 1 ? names_[0] : "";
    const auto fail = [&](const Error& error) { return Fail({{"shape", name}}, error, context); };
    if (names_.size() != 1 || context.json)
      return fail(InputError("--svg is a picture of one shape and not JSON",
                             "`hloscope ops 'f32[16,256]{1,0:T(8,128)}' --svg`")
                      .error());
    const Result<hlo::Shape> shape = ShapeOf(name, context.limits);
    if (!shape) return fail(shape.error());
    const std::string svg = TilingSvg(*shape, device_);
    if (svg.empty())
      return fail(InputError(name + ": no picture: expected an array with elements and a layout "
                                    "whose tiles combine no dimensions",
                             "as f32[16,256]{1,0:T(8,128)}")
                      .error());
    WriteOut(svg);
    return kGood;
  }

  static int Unknown(const std::string& name, const Context& context) {
    ClosestText closest(name);
    for (int k = 0; k < hlo::kOpcodeCount; ++k) {
      closest.Offer(hlo::Info(static_cast<hlo::Opcode>(k)).text);
    }
    for (int k = 0; k < hlo::kAttributeKeyCount; ++k) {
      closest.Offer(hlo::Info(static_cast<hlo::AttributeKey>(k)).text);
    }
    const std::string hint = closest.Hint();
    const auto error = InputError("unknown opcode or attribute " + name,
                                  hint.empty() ? "`hloscope ops` lists them" : hint);
    return Fail({{"opcode", name}}, error.error(), context);
  }

  static Result<hlo::Shape> ShapeOf(const std::string& text, const Limits& limits) {
    hlo::TextCursor cursor(text);
    hlo::Parsed<hlo::Shape> shape = hlo::ReadShape(cursor, limits);
    if (shape && cursor.AtEnd()) return *std::move(shape);
    return InputError(text + ": not a shape, expected one as f32[16,256]{1,0:T(8,128)}",
                      shape ? "there is more after it" : shape.error().message);
  }

  // Each attribute of the name: the opcode decides which it is. Empty: there is none.
  static std::string AttributeWords(const std::string& name, bool is_json) {
    std::string out;
    for (int k = 0; k < hlo::kAttributeKeyCount; ++k) {
      const auto key = static_cast<hlo::AttributeKey>(k);
      if (name.empty() || hlo::Info(key).text != name) continue;
      if (!is_json) {
        out += FormatText("{}: {}\n", name, hlo::Describe(key));
        continue;
      }
      JsonWriter json(out);
      json.BeginObject().Field("attribute", name).Field("sentence", hlo::Describe(key)).EndObject();
      out += "\n";
    }
    return out;
  }

  static std::string Text(const hlo::OpcodeInfo& info) {
    std::string out =
        FormatText("{:<26} {:>8}  {}\n", info.text,
                   info.arity < 0 ? "any" : std::to_string(info.arity), Attributes(info));
    out += FormatText("    {}\n", hlo::Describe(OpcodeOf(info)));
    for (const eval::CoverageRow& row : CoverageOf(info.text)) {
      out += FormatText("    {}: {}\n", row.distance, row.types);
    }
    return out;
  }

  static std::string Json(const hlo::OpcodeInfo& info) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject()
        .Field("opcode", info.text)
        .Field("sentence", hlo::Describe(OpcodeOf(info)))
        .Field("arity", info.arity)
        .Key("attributes")
        .BeginArray();
    for (const hlo::AttributeUse& use : info.attributes) {
      json.BeginObject()
          .Field("name", hlo::Info(use.key).text)
          .Field("required", use.required)
          .EndObject();
    }
    json.EndArray().Key("types").BeginObject();
    for (const eval::CoverageRow& row : CoverageOf(info.text)) {
      for (std::string_view type : Words(row.types)) {
        json.Key(type).BeginObject().Key(replay::ReferencePlatform().name);
        AddDistance(json, row.distance);
        json.EndObject();
      }
    }
    json.EndObject().EndObject();
    return out + "\n";
  }

  static hlo::Opcode OpcodeOf(const hlo::OpcodeInfo& info) {
    return *hlo::OpcodeFromText(info.text);
  }

  std::vector<std::string> names_;
  std::string device_;
  bool svg_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace hloscope::app
