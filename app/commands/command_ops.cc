// `hloscope ops`: the opcode table, and how near each platform comes to the true value by element
// type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "app/command.h"
#include "app/fail.h"
#include "app/output.h"
#include "core/base/closest_text.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/eval/coverage.h"
#include "core/hlo/opcode.h"
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
             .help = "list only these opcodes",
             .value = "OPCODE"}};
  }

  int Run(const Context& context) override {
    std::vector<hlo::Opcode> opcodes;
    for (const std::string& name : names_) {
      const std::optional<hlo::Opcode> opcode = hlo::OpcodeFromText(name);
      if (!opcode) return Unknown(name, context);
      opcodes.push_back(*opcode);
    }
    for (int k = 0; names_.empty() && k < hlo::kOpcodeCount; ++k) {
      opcodes.push_back(static_cast<hlo::Opcode>(k));
    }
    if (!context.json)
      WriteOut(
          "opcode                     operands  attributes (! is required)\n"
          "    largest error of the interpreter in ULP: element types\n");
    for (hlo::Opcode opcode : opcodes) {
      WriteOut(context.json ? Json(hlo::Info(opcode)) : Text(hlo::Info(opcode)));
    }
    return kGood;
  }

 private:
  static int Unknown(const std::string& name, const Context& context) {
    ClosestText closest(name);
    for (int k = 0; k < hlo::kOpcodeCount; ++k) {
      closest.Offer(hlo::Info(static_cast<hlo::Opcode>(k)).text);
    }
    const std::string hint = closest.Hint();
    const auto error =
        InputError("unknown opcode " + name, hint.empty() ? "`hloscope ops` lists them" : hint);
    return Fail({{"opcode", name}}, error.error(), context);
  }

  static std::string Text(const hlo::OpcodeInfo& info) {
    std::string out =
        FormatText("{:<26} {:>8}  {}\n", info.text,
                   info.arity < 0 ? "any" : std::to_string(info.arity), Attributes(info));
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

  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace hloscope::app
