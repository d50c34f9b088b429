// `hloscope why`: the compiler's own decisions about a fusion, or about two instructions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "app/command.h"
#include "app/dump_place.h"
#include "app/fail.h"
#include "app/output.h"
#include "core/analysis/compilation/named_instruction.h"
#include "core/analysis/compilation/why_fusion.h"
#include "core/base/format_text.h"
#include "core/base/json.h"
#include "core/dump/container.h"
#include "core/dump/dump_model.h"

namespace hloscope::app {
namespace {

using analysis::FusionAnswer;

class WhyCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {{.name = "path",
             .target = &path_,
             .help = "a dump directory, or a module file in one",
             .value = "DUMP",
             .required = true},
            {.name = "names",
             .target = &names_,
             .help = "a fusion, or MODULE:INSTR; with --not-fused a producer and its user",
             .value = "INSTR",
             .required = true},
            {.name = "--not-fused",
             .target = &not_fused_,
             .help = "why the first of two instructions is not fused into the second"},
            {.name = "--module",
             .target = &module_,
             .help = "the module of the dump, by name or id; by default the largest",
             .value = "MODULE"}};
  }

  int Run(const Context& context) override {
    for (std::string& name : names_) {
      // MODULE:INSTR, as info --select prints it.
      const auto [module, instruction] = SplitModule(name);
      if (!module.empty() && (module_.empty() || module_ == module)) {
        module_ = module;
        name = instruction;
      }
      if (name.starts_with('%')) name.erase(0, 1);
    }
    Result<FusionAnswer> answer = Answer(context);
    if (!answer) return Fail(path_, InFile(answer.error(), path_), context);
    context.json ? WriteOut(Json(*answer)) : PrintOut(Text(*answer));
    return kGood;
  }

 private:
  Result<FusionAnswer> Answer(const Context& context) const {
    std::error_code error;
    std::filesystem::path folder = path_;
    std::string file;
    if (!dump::IsFolder(folder)) {
      file = folder.filename().string();
      folder = folder.has_parent_path() ? folder.parent_path() : ".";
      if (!std::filesystem::exists(path_, error)) return InputError(path_ + ": no such file");
    }
    if (names_.size() > (not_fused_ ? 2 : 1)) {
      return InputError(fmt::format("{} is one name too many", names_.back()),
                        not_fused_ ? "--not-fused takes a producer and its user"
                                   : "--not-fused A B asks about two instructions");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto model,
                              dump::DumpModel::Open(folder.string(), context.limits));
    int32_t module = -1;
    for (const dump::FileEntry& entry : model->files()) {
      if (!file.empty() && entry.path == file) module = entry.module;
    }
    if (!file.empty() && module < 0)
      return InputError(path_ + ": not a module of a dump", "name a dump directory");
    if (file.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(module, FindModule(*model, module_));
    }
    if (!not_fused_) return analysis::WhyFusion(model, module, names_[0]);
    if (names_.size() == 1) return WithoutUser(*model, module);
    return analysis::WhyNotFused(model, module, names_[0], names_[1]);
  }

  // Error: of --not-fused the second instruction is missing.
  std::unexpected<Error> WithoutUser(const dump::DumpModel& model, int32_t module) const {
    constexpr size_t kShown = 5;
    Result<std::vector<std::string>> users = analysis::UsersByName(model, module, names_[0]);
    if (!users) return std::unexpected(users.error());
    const bool has_more = users->size() > kShown;
    if (has_more) users->resize(kShown);
    return InputError(
        fmt::format("--not-fused takes a producer and its user, and {} alone is given", names_[0]),
        users->empty()
            ? "no instruction uses it"
            : fmt::format("its users: {}{}", fmt::join(*users, ", "), has_more ? ", …" : ""));
  }

  std::string Text(const FusionAnswer& answer) const {
    std::string out;
    if (not_fused_) {
      const std::string_view state = answer.status == "fused"       ? "fused"
                                     : answer.status == "not_fused" ? "not fused"
                                                                    : "not known";
      out = FormatText("{} and {}: {}", names_[0], names_[1], state);
      if (!answer.place.empty()) {
        out += FormatText(" at {}", answer.place);
      } else if (answer.step != 0) {
        out += FormatText(" at step {}", answer.step);
      }
    } else {
      out = FormatText("{}: made by {}", names_[0], answer.made_by);
    }
    out += FormatText("\n  {}\n", answer.reason);
    for (const analysis::FusionReason& reason : answer.because) {
      out += FormatText("  {}", reason.text);
      if (!reason.source.empty()) out += FormatText(" at {}", reason.source);
      out += "\n";
    }
    for (const std::string& note : answer.notes) out += FormatText("  note: {}\n", note);
    if (answer.replay_agrees == true)
      out += "  the steps, replayed over the module before, give exactly the fusions after\n";
    return out;
  }

  std::string Json(const FusionAnswer& answer) const {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", path_).Key("instructions").BeginArray();
    for (const std::string& name : names_) json.Value(name);
    json.EndArray().Field("status", answer.status).Field("made_by", answer.made_by);
    json.Key("step");
    answer.step != 0 ? json.Value(answer.step) : json.Null();
    json.Field("reason", answer.reason).Field("certain", answer.is_certain).Key("estimates");
    if (answer.estimate) {
      json.BeginObject().Field("us_fused", answer.estimate->us_fused);
      json.Field("us_unfused", answer.estimate->us_unfused).Key("consumers").BeginArray();
      for (const std::string& consumer : answer.estimate->consumers) json.Value(consumer);
      json.EndArray().EndObject();
    } else {
      json.Null();
    }
    json.Key("because").BeginArray();
    for (const analysis::FusionReason& reason : answer.because) {
      json.BeginObject().Field("instruction", reason.producer).Field("operand", reason.consumer);
      json.Key("axis").Null().Field("source", reason.source).Field("text", reason.text);
      json.Field("step", reason.step).EndObject();
    }
    json.EndArray().Key("replay_agrees");
    answer.replay_agrees ? json.Value(*answer.replay_agrees) : json.Null();
    json.Key("notes").BeginArray();
    for (const std::string& note : answer.notes) json.Value(note);
    json.EndArray().EndObject();
    return out + "\n";
  }

  std::string path_, module_;
  std::vector<std::string> names_;
  bool not_fused_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeWhyCommand() { return std::make_unique<WhyCommand>(); }

}  // namespace hloscope::app
