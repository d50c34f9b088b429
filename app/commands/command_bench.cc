// `hloscope bench`: the benchmarks behind the figures in the README.
#include "app/command.h"
#include "app/commands/bench.h"

namespace hloscope::app {
namespace {

class BenchCommand : public Command {
 public:
  std::vector<OptionSpec> Options() override {
    return {
        {.name = "benchmark",
         .target = &benchmark_,
         .help = "parse: reading and printing; run: compiling and running on a platform",
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
             "parse: runs of which the fastest counts (7); run: runs of which the median counts "
             "(as many as fit 2 s)",
         .value = "N"},
        {.name = "--platform",
         .target = &run_.platform,
         .help = "of run (interpreter)",
         .value = "NAME"},
        {.name = "--against",
         .target = &run_.against,
         .help = "of run: the platform beside it, in turns",
         .value = "NAME"},
        {.name = "--threads",
         .target = &run_.threads,
         .help = "of run: CPUs that both platforms are held to (all)",
         .value = "N"},
        {.name = "--seed",
         .target = &run_.seed,
         .help = "of run: of made-up inputs (0)",
         .value = "N"},
        {.name = "--fill_elided",
         .target = &run_.fill_elided,
         .help = "of run: make up constants whose values the file does not hold, from this seed",
         .value = "SEED"},
    };
  }

  int Run(const Context& context) override {
    constexpr int64_t kParses = 7;
    if (benchmark_ == "run") return BenchRun(files_, run_, context);
    return BenchParse(files_, run_.repeats.value_or(kParses), context);
  }

 private:
  std::string benchmark_;
  std::vector<std::string> files_;
  BenchRunOptions run_;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace hloscope::app
