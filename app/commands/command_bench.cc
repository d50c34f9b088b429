// `hloscope bench`: the benchmarks of the figures in docs/figures.md.
#include "app/command.h"
#include "app/commands/bench.h"
#include "app/fail.h"
#include "app/shared_options.h"

namespace hloscope::app {
namespace {

class BenchCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    std::vector<OptionSpec> all = {
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
        PlatformOption("--platform", &run_.platform,
                       "run: the platform to measure; by default " + run_.platform),
        PlatformOption("--against", &run_.against,
                       "run: a second platform, measured alternately with the first"),
        {.name = "--against-itself",
         .target = &run_.against_itself,
         .help = "run: another worker of --against, measured alternately with both; its ratio is "
                 "the noise"},
        {.name = "--threads",
         .target = &run_.threads,
         .help = "run: number of CPUs that both platforms are pinned to (all)",
         .value = "N",
         .min = 1},
        {.name = "--seed",
         .target = &run_.seed,
         .help = "run: seed of the generated inputs (0)",
         .value = "N"},
        RowOption("--fill-elided", &run_.fill_elided),
        DeadlineOption(&run_.deadline_seconds, "a module"),
    };
    for (OptionSpec& spec : all) {
      const bool is_of_both = spec.positional() || spec.name == "--repeats";
      if (is_of_both) continue;
      spec.given = &of_run_;
      if (!spec.help.starts_with("run: ")) spec.help.insert(0, "run: ");
    }
    return all;
  }

  int Run(const Context& context) override {
    constexpr int64_t kParses = 7;
    if (benchmark_ == "run") return BenchRun(files_, run_, context);
    if (!of_run_.empty()) {
      const auto misplaced = InputError(of_run_.front() + ": parse runs nothing",
                                        "`bench run` measures compiling and running");
      return FailEach("file", files_, misplaced.error(), context);
    }
    return BenchParse(files_, run_.repeats.value_or(kParses), context);
  }

 private:
  std::string benchmark_;
  std::vector<std::string> files_;
  std::vector<std::string> of_run_;  // options that were given and that parse does not have
  BenchRunOptions run_;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace hloscope::app
