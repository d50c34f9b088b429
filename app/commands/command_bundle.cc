// `hloscope bundle`: a run in one file, to be sent to somebody else.
#include "app/command.h"
#include "app/commands/bundle.h"
#include "app/fail.h"
#include "app/output.h"
#include "app/shared_options.h"

namespace hloscope::app {
namespace {

class BundleCommand : public Command {
 public:
  BundleCommand() { run_.request().test.name.clear(); }  // so that one that was named is known

  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> specs = {
        {.name = "action",
         .target = &action_,
         .help =
             "create: run a module and pack what reproduces its failure; check: replay a bundle; "
             "open: unpack it",
         .value = "create|check|open",
         .choices = {"create", "check", "open"},
         .required = true},
        {.name = "files",
         .target = &files_,
         .help = "create: a module, a dump, or a file with the line of `diverge --json`; else "
                 "bundles (.hlob)",
         .value = "FILE",
         .required = true},
        {.name = "--into",
         .target = &options_.into,
         .help = "the folder to unpack into; a new one",
         .value = "DIR",
         .actions = {"open"}},
    };
    for (std::vector<OptionSpec> more : {CreateSpecs(), options_.pack.Specs(""), RunSpecs()}) {
      for (OptionSpec& spec : more) {
        if (spec.actions.empty()) spec.actions = {"create"};
        specs.push_back(std::move(spec));
      }
    }
    return specs;
  }

  int Run(const Context& context) override {
    if (Status ready = run_.Prepare(context); !ready)
      return FailEach("file", files_, ready.error(), context);
    if (action_ == "check") {
      run_.PrintNotes();
      return BundleCheck(files_, run_, context);
    }
    if (files_.size() != 1) {
      return FailEach("file", files_, InputError("expected one file").error(), context);
    }
    if (action_ == "create") {
      run_.PrintNotes();
      return BundleCreate(files_.front(), options_, run_, context);
    }
    if (options_.into.empty()) {
      return Fail(files_.front(),
                  InputError("open: --into DIR is missing",
                             "`hloscope open F.hlob` shows a bundle in the viewer")
                      .error(),
                  context);
    }
    return BundleOpen(files_.front(), options_.into, context);
  }

 private:
  std::vector<OptionSpec> CreateSpecs() {
    return {
        {.name = "--output",
         .target = &options_.out,
         .help = "the bundle to write (MODULE.hlob)",
         .value = "F.hlob",
         .letter = "-o"},
        {.name = "--profile",
         .target = &options_.profiles,
         .help = "add the time of each instruction from a trace; two traces are compared",
         .value = "F"},
        {.name = "--verdict",
         .target = &options_.verdict,
         .help = "add the line of `diverge --json` from this file",
         .value = "F.json"},
        {.name = "--reduced",
         .target = &options_.reduced,
         .help = "add a reduced module that fails in the same way",
         .value = "MODULE"},
        {.name = "--reduced-inputs",
         .target = &options_.reduced_inputs,
         .help = "the inputs of the reduced module, as for --inputs; by default generated "
                 "from the seed",
         .value = "FILE",
         .needs = {"--reduced"}},
        {.name = "--plan",
         .target = &options_.plan,
         .help = "list the contents, their sizes and what is redacted; nothing runs and "
                 "nothing is written"},
    };
  }

  // A replay takes the rest from the bundle.
  std::vector<OptionSpec> RunSpecs() {
    std::vector<OptionSpec> specs;
    for (const RunGroup group : {RunGroup::kInputs, RunGroup::kComparison, RunGroup::kIsolation,
                                 RunGroup::kRepeats, RunGroup::kExecution}) {
      for (OptionSpec& spec : run_.Specs(group)) {
        if (IsOfReplay(spec.name)) spec.actions = {"create", "check"};
        specs.push_back(std::move(spec));
      }
    }
    return specs;
  }

  std::string action_;
  std::vector<std::string> files_;
  BundleOptions options_;
  RunOptionSet run_;
};

}  // namespace

std::unique_ptr<Command> MakeBundleCommand() { return std::make_unique<BundleCommand>(); }

}  // namespace hloscope::app
