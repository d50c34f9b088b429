// Modules: text to executable kernels, and what is not executed in them.
#include "core/ptx/module.h"

namespace hloscope::ptx {
namespace {

EntryInfo InfoOf(const Kernel& kernel) {
  EntryInfo info;
  info.name = kernel.name;
  info.line = kernel.position.line;
  for (const Parameter& parameter : kernel.parameters) {
    info.parameters.push_back(
        {parameter.name, parameter.bytes, parameter.is_pointer, parameter.pointer_align});
  }
  std::copy(std::begin(kernel.required_threads), std::end(kernel.required_threads),
            info.required_threads.begin());
  std::copy(std::begin(kernel.required_cluster), std::end(kernel.required_cluster),
            info.required_cluster.begin());
  info.static_shared_bytes = kernel.static_shared_bytes;
  info.instructions = kernel.instructions.size();
  info.unsupported = kernel.unsupported;
  return info;
}

// The functions that execute a kernel; a form that decodes and is not executed joins what is
// unsupported.
Executable Prepared(const Kernel& kernel, const std::string& file, EntryInfo& info) {
  std::vector<Step> steps;
  for (size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    const Step step = IsControl(instruction.operation) ? nullptr : StepOf(instruction);
    steps.push_back(step);
    if (step != nullptr || IsControl(instruction.operation)) continue;
    info.unsupported.push_back(Error{ErrorClass::kUnsupported,
                                     "`" + kernel.forms[i] + "`: this form is not executed",
                                     {file, instruction.position.line, instruction.position.column},
                                     "kernels with it are not executed"});
  }
  return {kernel, std::move(steps)};
}

}  // namespace

Result<Module> Module::Parse(std::string text, std::string file, const TextLimits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(Syntax syntax, ParseText(std::move(text), std::move(file), limits));
  auto contents = std::make_shared<Contents>();
  contents->program = Decode(std::move(syntax));
  contents->target = contents->program.syntax.target;
  for (const Kernel& kernel : contents->program.kernels) {
    EntryInfo& info = contents->entries.emplace_back(InfoOf(kernel));
    contents->executables.push_back(Prepared(kernel, contents->program.syntax.file, info));
  }
  Module module;
  module.contents_ = std::move(contents);
  return module;
}

const std::vector<EntryInfo>& Module::entries() const { return contents_->entries; }
const std::string& Module::target() const { return contents_->target; }
const std::string& Module::file() const { return contents_->program.syntax.file; }
const std::string& Module::text() const { return *contents_->program.syntax.text; }

Result<const Kernel*> KernelOf(const Module& module, const std::string& entry) {
  for (const Kernel& kernel : module.contents().program.kernels) {
    if (kernel.name == entry) return &kernel;
  }
  return InputError("no entry `" + entry + "` in " + module.file(),
                    "see the entries of the module");
}

}  // namespace hloscope::ptx
