// The interpreter row: the reference evaluator as a platform.
#include "core/backends/interpreter/module_runs.h"

namespace hloscope::replay {
namespace {

class EvaluatorExecutable : public Executable {
 public:
  EvaluatorExecutable(std::shared_ptr<const hlo::Module> module, const RunOptions& options)
      : runs_(std::move(module), options) {}
  Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                        const RunOptions& options, RunStream& stream) override {
    return runs_.Run(inputs, options, stream, {});
  }

 private:
  ModuleRuns runs_;
};

class Interpreter : public Platform {
 public:
  explicit Interpreter(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                           const RunOptions& options) override {
    return std::make_unique<EvaluatorExecutable>(std::move(module), options);
  }

 private:
  std::string_view name_;
};

}  // namespace

std::unique_ptr<Platform> MakeInterpreter(const PlatformRow& row, std::string_view) {
  return std::make_unique<Interpreter>(row.name);
}

}  // namespace hloscope::replay
