// Jobs for the child as JSON and data, and its answers checked.
#include "core/backends/jaxlib/jaxlib_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/backends/jaxlib/child_script.h"
#include "core/base/parse_json.h"
#include "core/hlo/element_type.h"

namespace hloscope::replay {
namespace {

using hlo::Literal;
using hlo::Shape;
using Json = nlohmann::json;

// What this text is in, whoever sent it.
constexpr size_t kMaxName = 200, kMaxMessage = 2000;

// An answer: JSON, and data that later parts are cut from.
struct Answer {
  Json json;
  Frame frame;

  std::string Text(const char* key) const {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_string()) return {};
    return found->get<std::string>();
  }
  double Number(const char* key) const {
    const auto found = json.find(key);
    return found != json.end() && found->is_number() ? found->get<double>() : 0;
  }
};

std::unexpected<Error> MalformedMessage(std::string_view what) {
  return InternalError(fmt::format("malformed answer from the child Python: {}", what));
}

std::optional<int64_t> SizeOf(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62) return std::nullopt;
  const auto size = value.get<int64_t>();
  return size < 0 ? std::nullopt : std::optional(size);
}

// Cuts the data of a frame into parts, each from a multiple of kPartAlignment on.
class Parts {
 public:
  explicit Parts(const Frame& frame) : left_(frame.data.bytes) {}

  std::optional<std::span<const std::byte>> Next(int64_t size) {
    const auto bytes = static_cast<uint64_t>(size);
    if (bytes > left_.size()) return std::nullopt;
    const auto part = left_.first(static_cast<size_t>(bytes));
    left_ = left_.subspan(std::min(AlignedUp(part.size()), left_.size()));
    return part;
  }

 private:
  std::span<const std::byte> left_;
};

// XLA's status code stands before its message: "UNIMPLEMENTED: …".
ErrorClass ClassOfXla(std::string_view message) {
  constexpr std::pair<std::string_view, ErrorClass> kCodes[] = {
      {"UNIMPLEMENTED", ErrorClass::kUnsupported},
      {"INVALID_ARGUMENT", ErrorClass::kInput},
      {"FAILED_PRECONDITION", ErrorClass::kInput},
      {"RESOURCE_EXHAUSTED", ErrorClass::kEnvironment},
  };
  for (const auto& [code, error_class] : kCodes) {
    if (message.starts_with(code)) return error_class;
  }
  return ErrorClass::kInternal;
}

ErrorClass ClassOf(std::string_view refused, std::string_view message) {
  if (refused == "xla") return ClassOfXla(message);
  if (refused == "unsupported") return ErrorClass::kUnsupported;
  if (refused == "input") return ErrorClass::kInput;
  return refused == "environment" ? ErrorClass::kEnvironment : ErrorClass::kInternal;
}

// Messages of XLA carry traces of its C++ stack behind an empty line.
std::string WithoutTrace(std::string message) {
  for (std::string_view sign : {"\n*** Begin stack trace", "\n\n*** Begin", "\n-------"}) {
    message.resize(std::min(message.find(sign), message.size()));
  }
  while (message.ends_with('\n')) message.pop_back();
  if (message.size() > kMaxMessage) message.resize(kMaxMessage);
  return message;
}

// Sends a job, waits for its answer. What the child refuses is an error.
Result<Answer> Ask(WorkerProcess& worker, const JaxlibFacts& facts, const Json& job,
                   std::span<const std::span<const std::byte>> data, const Budget& bounds) {
  ValueWriter frame(FrameKind::kTask);
  frame.Put(job.dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const auto& part : data) frame.PutData(part);
  std::optional<Answer> answer;
  const auto take = [&](const Frame& reply) -> Result<bool> {
    ByteReader head(std::as_bytes(std::span(reply.head)));
    const auto text = head.Get<std::string>();
    if (static_cast<FrameKind>(reply.kind) != FrameKind::kTaskDone || !head.ok()) {
      return MalformedMessage("unexpected message");
    }
    answer = Answer{ParseJson(text).value_or(nullptr), reply};
    if (!answer->json.is_object()) return MalformedMessage("not JSON");
    return true;
  };
  HLOSCOPE_TRY(worker.Exchange(frame.Finish(), bounds, take));
  const std::string refused = answer->Text("refused");
  if (refused.empty()) return *std::move(answer);
  const std::string message = WithoutTrace(answer->Text("message"));
  const std::string who = facts.version.empty() ? "the child Python" : "jaxlib " + facts.version;
  return std::unexpected(
      Error{ClassOf(refused, message), fmt::format("{}: {}", who, message), {}, {}});
}

// --xla_name=value, in quotes where there is a space in it.
std::string FlagsText(const JaxlibStart& start) {
  constexpr std::string_view kDevices = "xla_force_host_platform_device_count";
  std::string text;
  for (const auto& [name, value] : start.flags) {
    const char quote = value.find('\'') == std::string::npos ? '\'' : '"';
    const bool plain = value.find_first_of(" \t\"'") == std::string::npos;
    text += plain ? fmt::format("--{}={} ", name, value)
                  : fmt::format("--{}={}{}{} ", name, quote, value, quote);
  }
  const bool said =
      std::ranges::any_of(start.flags, [&](const auto& flag) { return flag.first == kDevices; });
  if (!said && start.devices > 1) text += fmt::format("--{}={}", kDevices, start.devices);
  return text;
}

WorkerStart ChildOf(const JaxlibStart& start) {
  const auto number = [](auto kind) { return static_cast<uint32_t>(kind); };
  WorkerStart child;
  child.program = start.place.python;
  child.arguments = {start.place.python,
                     "-c",
                     std::string(JaxlibChildScript()),
                     fmt::format("{},{},{}", number(FrameKind::kReady), number(FrameKind::kTask),
                                 number(FrameKind::kTaskDone)),
                     fmt::format("{},{},{},{},{}", number(WorkerStage::kIdle),
                                 number(WorkerStage::kLoad), number(WorkerStage::kCompile),
                                 number(WorkerStage::kRun), number(WorkerStage::kReadBack)),
                     ProtocolText()};
  child.platform = "Python";
  child.environment = {"TF_CPP_MIN_LOG_LEVEL=2",    "TZ=UTC",
                       "PYTHONSAFEPATH=1",          "PYTHONUTF8=1",
                       "PYTHONDONTWRITEBYTECODE=1", "XLA_PYTHON_CLIENT_PREALLOCATE=false"};
  child.environment.push_back("XLA_FLAGS=" + FlagsText(start));
  return child;
}

// XLA ends the process where it does not know a flag of XLA_FLAGS.
Error Explain(Error error) {
  constexpr std::string_view kSign = "in XLA_FLAGS: ";
  const size_t at = error.message.find(kSign);
  if (error.error_class != ErrorClass::kCrashed || at == std::string::npos) return error;
  std::string flags = error.message.substr(at + kSign.size());
  while (flags.ends_with(' ')) flags.pop_back();
  return {ErrorClass::kInput, "this jaxlib does not know the XLA flag " + flags, {}, {}};
}

Result<Literal> ReadArray(const Json& spec, Parts& parts) {
  const auto type = spec.find("type"), dims = spec.find("dims"), bytes = spec.find("bytes");
  if (!spec.is_object() || type == spec.end() || !type->is_string() || dims == spec.end() ||
      !dims->is_array() || bytes == spec.end()) {
    return MalformedMessage("a result without a shape");
  }
  const auto name = type->get<std::string>();
  const auto element = hlo::ElementTypeFromText(name);
  std::vector<int64_t> sizes;
  for (const Json& dim : *dims) {
    const auto size = SizeOf(dim);
    if (!size) return MalformedMessage("a dimension is not a number");
    sizes.push_back(*size);
  }
  if (hlo::StorageBytes(element) == 0)
    return MalformedMessage("a result of the type " + name.substr(0, kMaxName));
  const Shape shape = Shape::Array(element, sizes);
  const auto size = SizeOf(*bytes);
  if (!size || shape.ByteSize() != *size)
    return MalformedMessage("a result of another size than its shape");
  const auto part = parts.Next(*size);
  if (!part) return MalformedMessage("a result is longer than the message");
  return Literal::Dense(shape, {part->begin(), part->end()});
}

Result<DeviceArrays> ReadOutputs(const Answer& answer, size_t devices, Parts& parts) {
  const auto outputs = answer.json.find("outputs");
  if (outputs == answer.json.end() || !outputs->is_array() || outputs->size() != devices) {
    return MalformedMessage("results of another number of devices");
  }
  DeviceArrays arrays;
  for (const Json& device : *outputs) {
    if (!device.is_array()) return MalformedMessage("results of a device are not a list");
    std::vector<Literal>& list = arrays.emplace_back();
    for (const Json& spec : device) {
      HLOSCOPE_ASSIGN_OR_RETURN(Literal value, ReadArray(spec, parts));
      list.push_back(std::move(value));
    }
  }
  return arrays;
}

Json SpecOf(const Literal& array) {
  Json dims = Json::array();
  for (int64_t size : array.shape().dimensions()) dims.push_back(size);
  return {{"type", hlo::ToString(array.shape().element_type())},
          {"dims", std::move(dims)},
          {"bytes", array.bytes().size()}};
}

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Result<std::unique_ptr<JaxlibProcess>> JaxlibProcess::Start(const JaxlibStart& start,
                                                            const Budget& bounds) {
  WorkerStart child = ChildOf(start);
  child.deadline = bounds.deadline;
  HLOSCOPE_ASSIGN_OR_RETURN(auto worker, WorkerProcess::Start(child));
  std::unique_ptr<JaxlibProcess> process(new JaxlibProcess(std::move(worker)));
  if (const Status opened = process->Open(start.folder, bounds); !opened) {
    Error error = Explain(opened.error());
    if (error.error_class == ErrorClass::kEnvironment && error.hint.empty()) {
      error.message += fmt::format(" ({})", start.place.python);
      error.hint = fmt::format("`{} -m pip install jaxlib` installs one", start.place.python);
    }
    return std::unexpected(std::move(error));
  }
  return process;
}

Status JaxlibProcess::Open(const std::string& folder, const Budget& bounds) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Answer answer, Ask(*worker_, facts_, {{"do", "open"}, {"folder", folder}}, {}, bounds));
  facts_ = {answer.Text("version").substr(0, kMaxName), answer.Text("python").substr(0, kMaxName),
            answer.Text("platform").substr(0, kMaxName),
            static_cast<int64_t>(std::clamp(answer.Number("devices"), 0.0, 1e6)),
            answer.Text("note").substr(0, kMaxName)};
  return {};
}

namespace {

Result<JaxlibTrace> ReadTrace(const Answer& answer, Parts& parts) {
  const auto size = answer.json.find("trace");
  const auto bytes = size == answer.json.end() ? std::nullopt : SizeOf(*size);
  const auto part = bytes ? parts.Next(*bytes) : std::nullopt;
  if (!part) return MalformedMessage("an answer without its trace");
  JaxlibTrace trace;
  trace.bytes.assign(reinterpret_cast<const char*>(part->data()), part->size());
  trace.note = answer.Text("trace_note").substr(0, kMaxMessage);
  trace.start_ns = static_cast<int64_t>(std::clamp(answer.Number("trace_start"), 0.0, 1e18));
  return trace;
}

}  // namespace

Result<JaxlibProgram> JaxlibProcess::Compile(const JaxlibCompileRequest& request,
                                             const Budget& bounds) {
  JaxlibProgram program;
  program.id = next_id_++;
  const Json job = {{"do", "compile"},
                    {"id", program.id},
                    {"devices", request.devices},
                    {"optimized", request.optimized_module},
                    {"trace", request.trace},
                    {"sizes", {request.module.size(), request.options.size()}}};
  const std::span<const std::byte> data[] = {BytesOf(request.module), BytesOf(request.options)};
  HLOSCOPE_ASSIGN_OR_RETURN(const Answer answer, Ask(*worker_, facts_, job, data, bounds));
  program.compile_ms = answer.Number("compile_ms");
  if (const std::string warning = answer.Text("warning"); !warning.empty()) {
    program.warnings.push_back(warning);
  }
  if (const auto memory = answer.json.find("memory"); memory != answer.json.end()) {
    for (const auto& [name, bytes] : memory->items()) {
      if (const auto size = SizeOf(bytes)) program.memory.emplace_back(name, *size);
    }
  }
  Parts parts(answer.frame);
  const auto sizes = answer.json.find("sizes");
  if (sizes == answer.json.end() || !sizes->is_array() || sizes->size() != 2) {
    return MalformedMessage("a compilation without modules");
  }
  for (const size_t i : {0, 1}) {
    const auto size = SizeOf((*sizes)[i]);
    const auto part = size ? parts.Next(*size) : std::nullopt;
    if (!part) return MalformedMessage("a module is longer than the message");
    (i == 0 ? program.taken : program.optimized_module)
        .assign(reinterpret_cast<const char*>(part->data()), part->size());
  }
  if (request.trace) {
    HLOSCOPE_ASSIGN_OR_RETURN(program.trace, ReadTrace(answer, parts));
  }
  return program;
}

Result<std::string> JaxlibProcess::Translate(const JaxlibTranslateRequest& request,
                                             const Budget& bounds) {
  Json shapes = Json::array();
  for (const auto& dimensions : request.dimensions) {
    shapes.push_back(dimensions ? Json(*dimensions) : Json(nullptr));
  }
  Json job = {{"do", "translate"}, {"dimensions", std::move(shapes)}};
  job["platform"] = request.platform_index ? Json(*request.platform_index) : Json(nullptr);
  const std::span<const std::byte> data[] = {BytesOf(request.code)};
  job["sizes"] = {request.code.size()};
  HLOSCOPE_ASSIGN_OR_RETURN(const Answer answer, Ask(*worker_, facts_, job, data, bounds));
  const auto bytes = answer.json.find("bytes");
  const auto size = bytes == answer.json.end() ? std::nullopt : SizeOf(*bytes);
  Parts parts(answer.frame);
  const auto part = size ? parts.Next(*size) : std::nullopt;
  if (!part) return MalformedMessage("a translation without its module");
  return std::string(reinterpret_cast<const char*>(part->data()), part->size());
}

Result<JaxlibResults> JaxlibProcess::Run(uint64_t program,
                                         std::span<const std::vector<Literal>> arguments,
                                         bool trace, const Budget& bounds) {
  Json lists = Json::array();
  std::vector<std::span<const std::byte>> data;
  for (const std::vector<Literal>& device : arguments) {
    Json& list = lists.emplace_back(Json::array());
    for (const Literal& argument : device) {
      list.push_back(SpecOf(argument));
      data.push_back(argument.bytes());
    }
  }
  const Json job = {
      {"do", "run"}, {"id", program}, {"arguments", std::move(lists)}, {"trace", trace}};
  HLOSCOPE_ASSIGN_OR_RETURN(const Answer answer, Ask(*worker_, facts_, job, data, bounds));
  JaxlibResults results;
  results.run_us = answer.Number("run_us");
  Parts parts(answer.frame);
  HLOSCOPE_ASSIGN_OR_RETURN(results.outputs, ReadOutputs(answer, arguments.size(), parts));
  if (trace) {
    HLOSCOPE_ASSIGN_OR_RETURN(results.trace, ReadTrace(answer, parts));
  }
  return results;
}

void JaxlibProcess::Unload(uint64_t program) {
  ValueWriter frame(FrameKind::kTask);
  frame.Put(Json{{"do", "unload"}, {"id", program}}.dump());
  worker_->Tell(frame.Finish());
}

}  // namespace hloscope::replay
