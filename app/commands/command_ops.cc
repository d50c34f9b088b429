// `hloscope ops`: the opcode table, and how near each platform comes to the true value by element
// type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "app/command.h"
#include "app/output.h"
#include "core/base/json.h"
#include "core/eval/coverage.h"
#include "core/hlo/opcode.h"
#include "core/hlo/text/closest_text.h"

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

Error UnknownOpcode(std::string_view name) {
  hlo::ClosestText closest(name);
  for (int k = 0; k < hlo::kOpcodeCount; ++k)
    closest.Offer(hlo::Info(static_cast<hlo::Opcode>(k)).text);
  const std::string hint = closest.Hint();
  return {ErrorClass::kInput, fmt::format("{}: no such opcode", name), {},
          hint.empty() ? "`hloscope ops` lists them" : hint};
}

class OpsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "opcodes",
             .target = &opcodes_,
             .help = "only these opcodes, as HLO text writes them: all-gather-start",
             .value = "OPCODE"}};
  }

  int Run(const Context& context) override {
    std::vector<hlo::Opcode> shown;
    for (const std::string& name : opcodes_) {
      std::optional<hlo::Opcode> opcode = hlo::OpcodeFromText(name);
      if (!opcode) {
        PrintError(UnknownOpcode(name));
        return kBadInput;
      }
      shown.push_back(*opcode);
    }
    for (int k = 0; opcodes_.empty() && k < hlo::kOpcodeCount; ++k)
      shown.push_back(static_cast<hlo::Opcode>(k));
    if (!context.json)
      WriteOut(
          "opcode                     operands  attributes (! is required)\n"
          "    ULP from the true value at worst on the interpreter: element types\n");
    for (hlo::Opcode opcode : shown) {
      const hlo::OpcodeInfo& info = hlo::Info(opcode);
      WriteOut(context.json ? Json(info) : Text(info));
    }
    return kGood;
  }

 private:
  static std::string Text(const hlo::OpcodeInfo& info) {
    std::string out =
        fmt::format("{:<26} {:>8}  {}\n", info.text,
                    info.arity < 0 ? "any" : std::to_string(info.arity), Attributes(info));
    for (const eval::CoverageRow& row : CoverageOf(info.text)) {
      out += fmt::format("    {}: {}\n", row.distance, row.types);
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
        json.Key(type).BeginObject().Key("interpreter");
        AddDistance(json, row.distance);
        json.EndObject();
      }
    }
    json.EndObject().EndObject();
    return out + "\n";
  }

  std::vector<std::string> opcodes_;
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace hloscope::app
