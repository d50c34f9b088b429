// `hloscope bench`: the benchmarks of the figures in docs/figures.md.
#include "app/command.h"
#include "app/commands/bench.h"
#include "app/shared_options.h"

namespace hloscope::app {
namespace {

class BenchCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> specs = {
        {.name = "benchmark",
         .target = &benchmark_,
         .help = "parse: measure reading and printing; run: measure compiling and running",
         .value = "parse|run",
         .choices = {"parse", "run"},
         .required = true},
        {.name = "files",
         .target = &files_,
         .help = "module files",
         .value = "FILE",
         .required = true},
        {.name = "--repeats",
         .target = &run_.repeats,
         .help =
             "number of runs: parse reports the fastest (of 7), run the median (of as many as fit "
             "in 2 s)",
         .value = "N",
         .min = 1},
    };
    // What `parse` does not read.
    for (OptionSpec& spec : RunSpecs()) {
      spec.actions = {"run"};
      specs.push_back(std::move(spec));
    }
    return specs;
  }

  int Run(const Context& context) override {
    constexpr int64_t kParses = 7;
    if (benchmark_ == "run") return BenchRun(files_, run_, context);
    return BenchParse(files_, run_.repeats.value_or(kParses), context);
  }

 private:
  std::vector<OptionSpec> RunSpecs() {
    return {
        PlatformOption("--platform", &run_.platform,
                       "the platform to measure; by default " + run_.platform),
        PlatformOption("--against", &run_.against,
                       "a second platform, measured alternately with the first"),
        {.name = "--against-itself",
         .target = &run_.against_itself,
         .help = "another worker of --against, measured alternately with both; its ratio is "
                 "the noise",
         .needs = {"--against"}},
        {.name = "--threads",
         .target = &run_.threads,
         .help = "number of CPUs that both platforms are pinned to (all)",
         .value = "N",
         .min = 1},
        {.name = "--seed",
         .target = &run_.seed,
         .help = "seed of the generated inputs (0)",
         .value = "N",
         .min = 0},
        RowOption("--fill-elided", &run_.fill_elided),
        SkipCallbacksOption(&run_.skip_callbacks),
        DeadlineOption(&run_.deadline_seconds, "a module"),
    };
  }

  std::string benchmark_;
  std::vector<std::string> files_;
  BenchRunOptions run_;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace hloscope::app
