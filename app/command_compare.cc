// `hloscope compare A B`: two sets of values, or two modules by meaning.
#include <fmt/format.h>

#include "app/command.h"
#include "app/inputs.h"
#include "app/output.h"
#include "core/base/json.h"
#include "core/debug/compare_modules.h"

namespace hloscope::app {
namespace {

class CompareCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "a",
         .target = &a_,
         .help = "a module, or values (.npy, .npz, .pb literal, folder)",
         .value = "A",
         .choices = {},
         .required = true},
        {.name = "b",
         .target = &b_,
         .help = "what to compare it with",
         .value = "B",
         .choices = {},
         .required = true},
    };
  }

  int Run(const Context& context) override { return Modules(context); }

 private:
  int Modules(const Context& context) {
    Result<dump::LoadedModule> a = dump::LoadSoundModule(a_, context.limits);
    Result<dump::LoadedModule> b = dump::LoadSoundModule(b_, context.limits);
    if (!a || !b) return Fail(!a ? a.error() : b.error(), context);
    debug::ModuleComparison result = debug::CompareModules(*a->module, *b->module);
    context.json ? WriteOut(Json(result)) : PrintOut(Text(result));
    return result.equal ? kGood : kDiffers;
  }

  int Fail(const Error& error, const Context& context) {
    PrintError(error);
    if (context.json) {
      std::string out;
      JsonWriter json(out);
      json.BeginObject()
          .Field("a", a_)
          .Field("b", b_)
          .Field("status", "error")
          .Field("error", error.ToString())
          .EndObject();
      WriteOut(out + "\n");
    }
    return ExitStatusOf(error);
  }

  std::string Text(const debug::ModuleComparison& result) const {
    if (result.equal) return fmt::format("{} and {} are the same module\n", a_, b_);
    std::string out = fmt::format("{} and {} differ\n", a_, b_);
    auto place = [](const std::string& computation, const std::string& instruction) {
      return instruction.empty() ? computation : computation + ":" + instruction;
    };
    for (const debug::InstructionChange& c : result.changed) {
      std::string where = place(c.computation, c.instruction);
      if (c.instruction_b != c.instruction) where += " -> " + c.instruction_b;
      out += fmt::format("  changed {}{}{}\n", where, where.empty() ? "" : ": ", c.what);
    }
    for (const debug::InstructionName& n : result.added)
      out += "  added " + place(n.computation, n.instruction) + "\n";
    for (const debug::InstructionName& n : result.removed)
      out += "  removed " + place(n.computation, n.instruction) + "\n";
    return out;
  }

  std::string Json(const debug::ModuleComparison& result) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("a", a_).Field("b", b_).Field("status",
                                                           result.equal ? "equal" : "differs");
    json.Key("changed").BeginArray();
    for (const debug::InstructionChange& c : result.changed) {
      json.BeginObject().Field("computation", c.computation).Field("instruction", c.instruction);
      json.Field("instruction_b", c.instruction_b).Field("what", c.what).EndObject();
    }
    json.EndArray();
    for (auto [key, list] :
         {std::pair("added", &result.added), std::pair("removed", &result.removed)}) {
      json.Key(key).BeginArray();
      for (const debug::InstructionName& n : *list) {
        json.BeginObject()
            .Field("computation", n.computation)
            .Field("instruction", n.instruction)
            .EndObject();
      }
      json.EndArray();
    }
    json.Key("cost").Null().EndObject();
    return out + "\n";
  }

  std::string a_, b_;
};

}  // namespace

std::unique_ptr<Command> MakeCompareCommand() { return std::make_unique<CompareCommand>(); }

}  // namespace hloscope::app
