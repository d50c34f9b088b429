// `hloscope ops`: the opcode table.
#include <fmt/format.h>

#include "app/command.h"
#include "app/output.h"
#include "core/base/json.h"
#include "core/hlo/opcode.h"

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

class OpsCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override { return {}; }

  int Run(const Context& context) override {
    if (!context.json)
      WriteOut("opcode                     operands  attributes (! is required)\n");
    for (int k = 0; k < hlo::kOpcodeCount; ++k) {
      const hlo::OpcodeInfo& info = hlo::Info(static_cast<hlo::Opcode>(k));
      WriteOut(context.json ? Json(info)
                            : fmt::format("{:<26} {:>8}  {}\n", info.text,
                                          info.arity < 0 ? "any" : std::to_string(info.arity),
                                          Attributes(info)));
    }
    return kGood;
  }

 private:
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
    json.EndArray().EndObject();
    return out + "\n";
  }
};

}  // namespace

std::unique_ptr<Command> MakeOpsCommand() { return std::make_unique<OpsCommand>(); }

}  // namespace hloscope::app
