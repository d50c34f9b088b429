// `hloscope show`: a module, one computation, or what lies around an instruction.
#include <fmt/format.h>

#include <array>

#include "app/command.h"
#include "app/fail.h"
#include "app/inputs.h"
#include "app/name_hint.h"
#include "app/output.h"
#include "app/reports/words_report.h"
#include "app/tensorflow_graph.h"
#include "core/base/counted.h"
#include "core/base/json.h"
#include "core/dump/container.h"
#include "core/graph/svg.h"
#include "core/graph/unfolding.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/graph.h"
#include "core/hlo/text/render.h"
#include "core/hlo/text/text.h"

namespace hloscope::app {
namespace {

using hlo::Module;

// Up to so many instructions a picture in a file shows each of them; of larger ones it shows
// groups, as many as can be read.
constexpr size_t kMaxInstructions = 1500, kMaxBoxes = 2500, kMaxGroups = 250;

class ShowCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "module",
         .target = &module_,
         .help = "the module file; - is standard input",
         .value = "MODULE",
         .required = true},
        {.name = "--format",
         .target = &format_,
         .help = "how to print it",
         .value = "FORM",
         .choices = {"hlo", "hlo-elided", "hlo-short", "hlo-canonical", "json", "dot", "svg",
                     "html"}},
        {.name = "--computation",
         .target = &computation_,
         .help = "only this computation",
         .value = "NAME"},
        {.name = "--around",
         .target = &around_,
         .help = "only the neighbourhood of this instruction",
         .value = "INSTR",
         .conflicts = {"--computation", "--paths"}},
        {.name = "--radius",
         .target = &radius_,
         .help = "how many steps around it",
         .value = "N",
         .needs = {"--around"},
         .min = 0},
        {.name = "--explain",
         .target = &explain_,
         .help = "what this instruction, its attributes and its layout mean",
         .value = "INSTR",
         .conflicts = {"--computation", "--around", "--paths", "--format"}},
        {.name = "--other",
         .target = &other_,
         .help = "a second TensorFlow graph, drawn next to the first, as after marking",
         .value = "GRAPH",
         .conflicts = {"--computation", "--around", "--paths", "--explain"}},
        {.name = "--paths",
         .target = &paths_,
         .help = "the instructions on paths from A to B",
         .value = "A,B",
         .commas = true,
         .conflicts = {"--computation"}},
    };
  }

  int Run(const Context& context) override {
    const Result<FileView> file = dump::OpenInput(module_, context.limits);
    if (file && IsTensorFlowGraph(*file)) {
      if (!computation_.empty() || !around_.empty() || !explain_.empty() || !paths_.empty())
        return Fail(
            module_,
            InputError(module_ + ": --computation, --around, --paths and --explain are of HLO "
                                 "modules, and it is a TensorFlow graph",
                       "--format svg draws it")
                .error(),
            context);
      return ShowTensorFlowGraph(module_, *file, other_, context.json ? "json" : format_, context);
    }
    if (!other_.empty())
      return Fail(module_,
                  InputError(module_ + ": --other is of TensorFlow graphs, and this is none",
                             "hloscope compare A B compares modules")
                      .error(),
                  context);
    Result<dump::LoadedModule> loaded = Load(file, context.limits);
    if (!loaded) return Fail(module_, loaded.error(), context);
    if (loaded->module == nullptr) {
      PrintReadErrors(*loaded);
      if (context.json) {
        const auto unread = InputError(ProblemLines(*loaded, loaded->diagnostics));
        WriteOut(FailureJson({{"file", module_}}, unread.error()));
      }
      return kBadInput;
    }
    const Module& module = *loaded->module;
    if (!explain_.empty()) {
      const Result<hlo::InstructionId> id = Named(module, explain_);
      if (!id) return Fail(module_, id.error(), context);
      context.json ? WriteOut(ExplainJson(module, *id)) : PrintOut(ExplainText(module, *id));
      return kGood;
    }
    Result<std::vector<hlo::InstructionId>> selection = Select(module);
    if (!selection) return Fail(module_, selection.error(), context);
    bool whole = computation_.empty() && around_.empty() && paths_.empty();
    std::string out = format_ == "svg" || format_ == "html"
                          ? Draw(loaded->module, *selection, whole)
                          : Render(module, *selection, whole, context.json);
    if (!out.ends_with('\n')) out += '\n';
    // The text is the file's own; control characters in it must not reach a terminal.
    format_ == "json" || context.json ? WriteOut(out) : PrintOut(out);
    return kGood;
  }

 private:
  static Result<dump::LoadedModule> Load(const Result<FileView>& file, const Limits& limits) {
    if (!file) return std::unexpected(file.error());
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView part, dump::OnlyModuleIn(*file, limits));
    return dump::LoadModule(part, limits);
  }

  Result<hlo::InstructionId> Named(const Module& module, const std::string& name) const {
    hlo::InstructionId id = hlo::FindInstruction(module, name);
    if (id.valid()) return id;
    const std::string hint = hlo::SimilarInstruction(module, name);
    return InputError(fmt::format("{}: no instruction {}", module_, name),
                      hint.empty() ? "`hloscope find` searches names" : hint);
  }

  // The instructions to show; all of the module where nothing is selected.
  Result<std::vector<hlo::InstructionId>> Select(const Module& module) {
    if (!around_.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(hlo::InstructionId center, Named(module, around_));
      return hlo::Neighbourhood(module, std::array{center}, radius_);
    }
    if (!paths_.empty()) {
      if (paths_.size() != 2) return InputError("--paths expects two instructions, A,B");
      HLOSCOPE_ASSIGN_OR_RETURN(hlo::InstructionId from, Named(module, paths_[0]));
      HLOSCOPE_ASSIGN_OR_RETURN(hlo::InstructionId to, Named(module, paths_[1]));
      std::vector<hlo::InstructionId> between = hlo::Between(module, from, to);
      if (between.empty())
        return InputError(fmt::format("{}: no path from {} to {}", module_, paths_[0], paths_[1]));
      return between;
    }
    if (computation_.empty()) return hlo::AllInstructions(module);
    std::string_view name = computation_;
    if (name.starts_with('%')) name.remove_prefix(1);
    for (uint32_t c = 0; c < module.computations().size(); ++c) {
      if (module[module.computations()[c].name] == name)
        return hlo::InstructionsOf(module, hlo::ComputationId(c));
    }
    NameHint hint(name, "computations");
    for (const hlo::Computation& c : module.computations()) hint.Offer(module[c.name]);
    return InputError(fmt::format("{}: no computation {}", module_, name), hint.Text());
  }

  // The selection's computation (the entry of a whole module) with what it calls, opened in place.
  std::string Draw(const std::shared_ptr<const Module>& module,
                   const std::vector<hlo::InstructionId>& selection, bool whole) {
    const hlo::ComputationId computation =
        whole || selection.empty() ? module->entry_id() : (*module)[selection.front()].computation;
    const bool part = !around_.empty() || !paths_.empty();
    const analysis::Placement placement = analysis::FindPlacement(*module);
    const size_t count =
        part ? selection.size() : static_cast<size_t>((*module)[computation].instruction_count);
    graph::TreeOptions how;
    how.groups = count > kMaxInstructions;
    graph::Tree tree(module, computation, how,
                     part ? selection : std::vector<hlo::InstructionId>());
    graph::FoldableGraph graph(std::move(tree));
    graph::Unfold(graph, how.groups ? kMaxGroups : kMaxBoxes);
    graph::SvgOptions options;
    options.placement = &placement;
    options.heading = Heading(*module, computation, selection.size());
    if (format_ == "html") return ToHtml(graph, options, selection);
    return ToSvg(graph, options);
  }

  std::string Heading(const Module& module, hlo::ComputationId computation, size_t count) const {
    const std::string_view name = module[module[computation].name];
    if (!around_.empty()) return fmt::format("{} in {}: around {}", name, module.name(), around_);
    if (!paths_.empty())
      return fmt::format("{} in {}: from {} to {}", name, module.name(), paths_[0], paths_[1]);
    return fmt::format("{} in {}: {}", name, module.name(), Counted(count, "instruction"));
  }

  std::string Render(const Module& module, const std::vector<hlo::InstructionId>& selection,
                     bool whole, bool json) {
    std::string out;
    if (json || format_ == "json") return hlo::ToJson(module, selection);
    if (format_ == "dot") {
      const analysis::Placement placement = analysis::FindPlacement(module);
      return graph::ToDot(module, selection, &placement);
    }
    hlo::TextFormat format = format_ == "hlo-elided"      ? hlo::TextFormat::kElided
                             : format_ == "hlo-short"     ? hlo::TextFormat::kShort
                             : format_ == "hlo-canonical" ? hlo::TextFormat::kCanonical
                                                          : hlo::TextFormat::kHlo;
    if (whole) {
      hlo::PrintText(module, format, out);
      return out;
    }
    if (!computation_.empty() && around_.empty() && paths_.empty()) {
      hlo::PrintText(module, module[selection.front()].computation, format, out);
      return out;
    }
    hlo::InstructionPrinter printer(module, format);
    for (hlo::InstructionId id : selection) out.append(printer.Text(id)) += '\n';
    return out;
  }

  std::string module_, format_ = "hlo", computation_, around_, explain_, other_;
  int64_t radius_ = 2;
  std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<Command> MakeShowCommand() { return std::make_unique<ShowCommand>(); }

}  // namespace hloscope::app
