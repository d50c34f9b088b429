// Letting the real XLA compile a module: the request, the child's side and the answer.
#include "core/backends/pjrt/xla_compile.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "core/analysis/compilation/compile_time.h"
#include "core/backends/pjrt/api.h"
#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/memory_stats.h"
#include "core/base/byte_archive.h"
#include "core/base/machine_memory.h"
#include "core/base/unique_fd.h"
#include "core/replay/workers/typed_task.h"

namespace hloscope::replay {

template <typename A>
void Archive(A& archive, Archived<A, XlaCompileRequest>& value) {
  archive(value.plugin, value.module, value.format, value.target, value.replicas, value.partitions,
          value.partitioning.spmd, value.partitioning.shardy, value.partitioning.to_parameters,
          value.partitioning.to_results, value.argument_layouts, value.result_layout, value.dump,
          value.flags, value.optimized_module);
}

template <typename A>
void Archive(A& archive, Archived<A, XlaCompileAnswer>& value) {
  archive(value.optimized_module, value.load_ms, value.compile_ms, value.memory, value.warnings);
}

namespace {

using Clock = std::chrono::steady_clock;
using pjrt::Block;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

pjrt::NamedValue StringValue(std::string_view name, const std::string& value) {
  pjrt::NamedValue named{};
  named.header.struct_size = pjrt::NamedValue::kSize;
  named.name = name.data();
  named.name_size = name.size();
  named.type = pjrt::NamedValueType::kString;
  named.string_value = value.data();
  named.value_size = value.size();
  return named;
}

// One slice of one host with all the devices.
Result<pjrt::OwnedTopology> DescribedDevices(const std::shared_ptr<const pjrt::Plugin>& plugin,
                                             const std::string& target, int64_t devices) {
  const std::string layout = fmt::format("1x1x{}", devices);
  const pjrt::NamedValue options[] = {StringValue("target_config", target),
                                      StringValue("topology", layout)};
  Block<pjrt::TopologyDescriptionCreateArgs> args;
  args->topology_name = "";
  args->create_options = options;
  args->num_options = std::size(options);
  HLOSCOPE_TRY(plugin->Call(args));
  return pjrt::OwnedTopology(plugin, args->topology);
}

// The name in the message of a strict text reader: `… has no field named "NAME"`.
std::string UnknownField(std::string_view message) {
  constexpr std::string_view kSign = "no field named \"";
  const size_t at = message.find(kSign);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = message.substr(at + kSign.size());
  return std::string(rest.substr(0, rest.find('"')));
}

// `text` without the lines of the field `name`; a field in braces must stand on one line.
std::string WithoutField(std::string_view text, std::string_view name) {
  std::string kept;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const size_t begin = line.find_first_not_of(" \t");
    const std::string_view word = begin == std::string_view::npos ? "" : line.substr(begin);
    const bool is_field = word.starts_with(name) && word.size() > name.size() &&
                          (word[name.size()] == ':' || word[name.size()] == ' ');
    if (!is_field) kept += line;
  }
  return kept;
}

// What is printed on standard error while it lives is kept, and printed again at the end.
class PrintedErrors {
 public:
  PrintedErrors() : kept_(memfd_create("printed", MFD_CLOEXEC)), before_(dup(STDERR_FILENO)) {
    if (kept_.valid() && before_.valid()) dup2(kept_.get(), STDERR_FILENO);
  }
  ~PrintedErrors() {
    const std::string text = Text();
    if (kept_.valid() && before_.valid()) dup2(before_.get(), STDERR_FILENO);
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;
  }
  PrintedErrors(const PrintedErrors&) = delete;
  PrintedErrors& operator=(const PrintedErrors&) = delete;

  std::string Text() const {
    std::string text(1 << 14, '\0');
    const ssize_t size = kept_.valid() ? pread(kept_.get(), text.data(), text.size(), 0) : 0;
    text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    return text;
  }

 private:
  UniqueFd kept_, before_;
};

// An XLA that is older than the description does not know all of its fields: they are left out. It
// prints what it stumbled over and says in the error only that it did.
Result<pjrt::OwnedTopology> MakeTopology(const std::shared_ptr<const pjrt::Plugin>& plugin,
                                         const XlaCompileRequest& request,
                                         XlaCompileAnswer& answer) {
  constexpr int kMaxUnknown = 32;
  std::string target = request.target;
  for (int attempt = 0;; ++attempt) {
    const PrintedErrors printed;
    auto topology = DescribedDevices(plugin, target, request.replicas * request.partitions);
    if (topology.has_value() || attempt == kMaxUnknown) return topology;
    const std::string said = topology.error().message + printed.Text();
    const std::string field = UnknownField(said);
    std::string shorter = field.empty() ? target : WithoutField(target, field);
    if (shorter == target) {
      if (!field.empty()) topology.error().message += " It does not know the field " + field;
      return topology;
    }
    answer.warnings.push_back(
        fmt::format("this XLA does not know the field {} of the target: dropped", field));
    target = std::move(shorter);
  }
}

void ReadMemory(const pjrt::Plugin& plugin, pjrt::Executable* executable,
                XlaCompileAnswer& answer) {
  Block<pjrt::ExecutableGetCompiledMemoryStatsArgs> args;
  args->executable = executable;
  if (!plugin.Call(args)) return;  // not every plugin knows
  answer.memory = {{"generated_code", args->generated_code_size_in_bytes},
                   {"arguments", args->argument_size_in_bytes},
                   {"outputs", args->output_size_in_bytes},
                   {"aliased", args->alias_size_in_bytes},
                   {"temporary", args->temp_size_in_bytes},
                   {"peak", pjrt::PeakBytes(*args.get())}};
}

Result<std::string> OptimizedModule(const pjrt::Plugin& plugin, pjrt::Executable* executable) {
  Block<pjrt::Program> program;
  Block<pjrt::ExecutableOptimizedProgramArgs> args;
  args->executable = executable;
  args->program = program.get();
  HLOSCOPE_TRY(plugin.Call(args, program));
  std::string bytes(program->code_size, '\0');
  program->code = bytes.data();
  HLOSCOPE_TRY(plugin.Call(args, program));
  return bytes;
}

struct Compiled {
  pjrt::OwnedTopology topology;
  pjrt::OwnedClient client;
  pjrt::OwnedLoadedExecutable loaded;
  pjrt::OwnedExecutable executable;
};

Result<Compiled> CompileForDescription(const std::shared_ptr<const pjrt::Plugin>& plugin,
                                       const XlaCompileRequest& request,
                                       Block<pjrt::Program>& program, const std::string& options,
                                       XlaCompileAnswer& answer) {
  Compiled compiled;
  HLOSCOPE_ASSIGN_OR_RETURN(compiled.topology, MakeTopology(plugin, request, answer));
  Block<pjrt::CompileArgs> args;
  args->topology = compiled.topology.get();
  args->program = program.get();
  args->compile_options = options.data();
  args->compile_options_size = options.size();
  const Clock::time_point start = Clock::now();
  HLOSCOPE_TRY(plugin->Call(args, program));
  answer.compile_ms = MillisecondsSince(start);
  compiled.executable = pjrt::OwnedExecutable(plugin, args->executable);
  return compiled;
}

Result<Compiled> CompileForOwnDevices(const std::shared_ptr<const pjrt::Plugin>& plugin,
                                      const XlaCompileRequest& request,
                                      Block<pjrt::Program>& program, const std::string& options,
                                      XlaCompileAnswer& answer) {
  Compiled compiled;
  pjrt::NamedValue count{};
  count.header.struct_size = pjrt::NamedValue::kSize;
  count.name = "cpu_device_count";
  count.name_size = std::string_view(count.name).size();
  count.type = pjrt::NamedValueType::kInt64;
  count.int64_value = request.replicas * request.partitions;
  count.value_size = 1;
  Block<pjrt::ClientCreateArgs> client;
  client->create_options = &count;
  client->num_options = count.int64_value > 1 ? 1 : 0;
  HLOSCOPE_TRY(plugin->Call(client));
  compiled.client = pjrt::OwnedClient(plugin, client->client);
  Block<pjrt::ClientCompileArgs> args;
  args->client = client->client;
  args->program = program.get();
  args->compile_options = options.data();
  args->compile_options_size = options.size();
  const Clock::time_point start = Clock::now();
  HLOSCOPE_TRY(plugin->Call(args, program));
  answer.compile_ms = MillisecondsSince(start);
  compiled.loaded = pjrt::OwnedLoadedExecutable(plugin, args->executable);
  Block<pjrt::LoadedExecutableGetExecutableArgs> get;
  get->loaded_executable = args->executable;
  HLOSCOPE_TRY(plugin->Call(get));
  compiled.executable = pjrt::OwnedExecutable(plugin, get->executable);
  return compiled;
}

std::string OptionsOf(const XlaCompileRequest& request) {
  pjrt::CompileOptions options;
  options.replicas = request.replicas;
  options.partitions = request.partitions;
  options.partitioning = request.partitioning;
  options.argument_layouts = request.argument_layouts;
  options.result_layout = request.result_layout;
  options.flags = request.flags;
  // Relative, so that the dump says nothing of where it was made.
  if (!request.dump.empty()) options.flags.emplace_back("xla_dump_to", ".");
  for (int64_t id = 0;
       request.replicas * request.partitions > 1 && id < request.replicas * request.partitions;
       ++id) {
    options.devices.push_back(id);
  }
  return Serialize(options);
}

Result<XlaCompileAnswer> CompileHere(XlaCompileRequest& request) {
  XlaCompileAnswer answer;
  const Clock::time_point start = Clock::now();
  HLOSCOPE_ASSIGN_OR_RETURN(const std::shared_ptr<const pjrt::Plugin> plugin,
                            pjrt::OpenPlugin(request.plugin));
  answer.load_ms = MillisecondsSince(start);
  if (!request.dump.empty() && chdir(request.dump.c_str()) != 0) {
    return EnvironmentError(fmt::format("{}: cannot be written to", request.dump));
  }
  Block<pjrt::Program> program;
  program->code = request.module.data();
  program->code_size = request.module.size();
  program->format = request.format.data();
  program->format_size = request.format.size();
  const std::string options = OptionsOf(request);
  HLOSCOPE_ASSIGN_OR_RETURN(const Compiled compiled,
                            request.target.empty()
                                ? CompileForOwnDevices(plugin, request, program, options, answer)
                                : CompileForDescription(plugin, request, program, options, answer));
  ReadMemory(*plugin, compiled.executable.get(), answer);
  if (request.optimized_module) {
    HLOSCOPE_ASSIGN_OR_RETURN(answer.optimized_module,
                              OptimizedModule(*plugin, compiled.executable.get()));
  }
  return answer;
}

}  // namespace

// The task "compile".
Result<std::string> CompileWithPlugin(std::string_view request) {
  return DoTypedTask<XlaCompileRequest>(request, &CompileHere);
}

Result<XlaCompileAnswer> CompileWithXla(const XlaCompileRequest& request,
                                        std::chrono::steady_clock::time_point deadline,
                                        const std::stop_token& stop) {
  IsolatedTaskRequest task;
  task.name = "compile";
  task.deadline =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (request.timers)
    task.environment.assign(std::begin(analysis::kTimerVariables),
                            std::end(analysis::kTimerVariables));
  task.log = request.log;
  task.memory_bytes = request.memory_bytes > 0 ? request.memory_bytes : MachineMemoryBytes() / 2;
  return RunTypedTask<XlaCompileAnswer>(std::move(task), request, stop);
}

pjrt::XlaFlags DumpFlags(Devices devices, bool passes) {
  pjrt::XlaFlags flags = {
      {"xla_dump_hlo_as_text", "true"},
      {"xla_dump_hlo_as_proto", "true"},
      // Anchored: a bare `llvm` also asks for the slow trace of every Triton kernel.
      {"xla_dump_emitter_re", "^(llvm|ptx|triton-fusion)$"}};
  if (passes) flags.emplace_back("xla_dump_hlo_pass_re", ".*");
  if (devices == Devices::kGpu) {
    // There is no device to time candidates on.
    flags.emplace_back("xla_gpu_autotune_level", "0");
    // One kernel after the other: else they come out under other numbers each time.
    flags.emplace_back("xla_gpu_force_compilation_parallelism", "1");
    flags.emplace_back("xla_dump_module_metadata", "true");  // XLA:CPU writes none
  }
  return flags;
}

}  // namespace hloscope::replay
