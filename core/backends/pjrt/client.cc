#include "core/backends/pjrt/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace hloscope::replay::pjrt {

using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

namespace {

struct TypeNumber {
  ElementType type;
  int32_t number;
};
constexpr TypeNumber kTypeNumbers[] = {
#define BUFFER_TYPE(type, number) {ElementType::type, number},
#include "core/backends/pjrt/buffer_types.def"
#include "core/base/counted.h"
#undef BUFFER_TYPE
};

NamedValue OptionOf(std::string_view name, NamedValueType type, size_t elements = 1) {
  NamedValue option{};
  option.header.struct_size = NamedValue::kSize;
  option.name = name.data();
  option.name_size = name.size();
  option.type = type;
  option.value_size = elements;
  return option;
}

NamedValue IntOption(std::string_view name, int64_t value) {
  NamedValue option = OptionOf(name, NamedValueType::kInt64);
  option.int64_value = value;
  return option;
}

// Row-major: the last dimension is the fastest.
struct HostLayout {
  explicit HostLayout(size_t rank) {
    for (size_t d = rank; d-- > 0;) order.push_back(static_cast<int64_t>(d));
    layout->tiled.header.struct_size = TiledLayout::kSize;
    layout->tiled.minor_to_major = order.data();
    layout->tiled.minor_to_major_size = order.size();
  }
  std::vector<int64_t> order;
  Block<MemoryLayout> layout;
};

}  // namespace

NamedValue NoPreallocation() {
  NamedValue option = OptionOf("preallocate", NamedValueType::kBool);
  option.bool_value = false;
  return option;
}

void NarrowElements(ElementType type, std::span<std::byte> bytes) {
  if (hlo::BitWidth(type) >= 8) return;
  const auto bits = static_cast<unsigned>(hlo::BitWidth(type));
  const unsigned sign = 1u << (bits - 1);
  for (std::byte& byte : bytes) {
    unsigned value = std::to_integer<unsigned>(byte) & ((1u << bits) - 1);
    if (hlo::IsSigned(type)) value = (value ^ sign) - sign;
    byte = static_cast<std::byte>(value & 0xffu);
  }
}

int32_t BufferTypeOf(ElementType type) {
  const auto* row = std::ranges::find(kTypeNumbers, type, &TypeNumber::type);
  return row == std::end(kTypeNumbers) ? 0 : row->number;
}

ElementType ElementTypeOfBuffer(int32_t number) {
  const auto* row = std::ranges::find(kTypeNumbers, number, &TypeNumber::number);
  return row == std::end(kTypeNumbers) ? ElementType::kInvalid : row->type;
}

Status ClientHandle::Create(std::span<const NamedValue> options) {
  Block<ClientCreateArgs> create;
  create->create_options = options.data();
  create->num_options = options.size();
  HLOSCOPE_TRY(plugin_->Call(create));
  client_ = OwnedClient(plugin_, create->client);
  Block<ClientPlatformNameArgs> name;
  name->client = create->client;
  HLOSCOPE_TRY(plugin_->Call(name));
  platform_name_.assign(name->platform_name, name->platform_name_size);
  Block<ClientPlatformVersionArgs> version;
  version->client = create->client;
  HLOSCOPE_TRY(plugin_->Call(version));
  platform_version_.assign(version->platform_version, version->platform_version_size);
  return ReadDevices();
}

// Of no more GPUs than the module is for, and of no more of their memory than it uses: our own
// platform may be on the same, and others on the rest.
Status ClientHandle::CreateOnGpus(int64_t devices) {
  std::vector<int64_t> visible(static_cast<size_t>(devices));
  std::iota(visible.begin(), visible.end(), 0);
  std::array options = {NoPreallocation(),
                        OptionOf("visible_devices", NamedValueType::kInt64List, visible.size())};
  options[1].int64_array_value = visible.data();
  Status created = Create(options);
  // Where there are fewer, how many is to be said.
  if (!created.has_value() && devices > 1) created = Create({options.data(), 1});
  return created;
}

Status ClientHandle::ReadDevices() {
  Block<ClientAddressableDevicesArgs> list;
  list->client = client_.get();
  HLOSCOPE_TRY(plugin_->Call(list));
  for (size_t i = 0; i < list->num_addressable_devices; ++i) {
    Block<DeviceGetDescriptionArgs> describe;
    describe->device = list->addressable_devices[i];
    HLOSCOPE_TRY(plugin_->Call(describe));
    Block<DeviceDescriptionIdArgs> id;
    id->device_description = describe->device_description;
    HLOSCOPE_TRY(plugin_->Call(id));
    devices_.push_back(list->addressable_devices[i]);
    device_ids_.push_back(id->id);
  }
  return {};
}

Result<std::shared_ptr<const ClientHandle>> OpenClient(const std::shared_ptr<const Plugin>& plugin,
                                                       int64_t devices, bool is_gpu) {
  using Key = std::pair<const Plugin*, int64_t>;
  static std::mutex mutex;
  // Never destroyed: at exit the static objects of a plugin may be gone first.
  static auto& open = *new std::map<Key, std::shared_ptr<const ClientHandle>>;
  const std::scoped_lock lock(mutex);
  std::shared_ptr<const ClientHandle>& known = open[{plugin.get(), devices}];
  if (known != nullptr) return known;
  std::shared_ptr<ClientHandle> client(new ClientHandle(plugin));
  HLOSCOPE_TRY(is_gpu ? client->CreateOnGpus(devices) : client->Create({}));
  if (std::cmp_less(client->device_ids().size(), devices) && client->platform_name() == "cpu") {
    client.reset(new ClientHandle(plugin));
    const NamedValue count = IntOption("cpu_device_count", devices);
    HLOSCOPE_TRY(client->Create({&count, 1}));
  }
  if (std::cmp_less(client->device_ids().size(), devices)) {
    return EnvironmentError(
        fmt::format("the module is for {}, {} has {}", Counted(devices, "device"),
                    client->platform_name(), client->device_ids().size()),
        "extract a part, or use another platform");
  }
  known = client;
  return client;
}

Result<LoadedProgram> ClientHandle::Compile(std::string_view code, std::string_view format,
                                            std::string_view options) const {
  Block<Program> program;
  program->code = const_cast<char*>(code.data());  // only read
  program->code_size = code.size();
  program->format = format.data();
  program->format_size = format.size();
  Block<ClientCompileArgs> compile;
  compile->client = client_.get();
  compile->program = program.get();
  compile->compile_options = options.data();
  compile->compile_options_size = options.size();
  HLOSCOPE_TRY(plugin_->Call(compile, program));
  LoadedProgram result;
  result.loaded = OwnedLoadedExecutable(plugin_, compile->executable);
  Block<LoadedExecutableGetExecutableArgs> get;
  get->loaded_executable = compile->executable;
  HLOSCOPE_TRY(plugin_->Call(get));
  result.executable = OwnedExecutable(plugin_, get->executable);
  Block<ExecutableNumOutputsArgs> outputs;
  outputs->executable = get->executable;
  HLOSCOPE_TRY(plugin_->Call(outputs));
  result.output_count = outputs->num_outputs;
  Block<LoadedExecutableAddressableDevicesArgs> devices;
  devices->executable = compile->executable;
  HLOSCOPE_TRY(plugin_->Call(devices));
  result.devices.assign(devices->addressable_devices,
                        devices->addressable_devices + devices->num_addressable_devices);
  return result;
}

Result<OwnedBuffer> ClientHandle::Put(const Literal& literal, Device* device) const {
  const Shape& shape = literal.shape();
  const int32_t type = BufferTypeOf(shape.element_type());
  if (type == 0) {
    return UnsupportedError(fmt::format("an input of {}: plugins do not support such arrays",
                                        hlo::ToString(shape, false)));
  }
  Block<ClientBufferFromHostBufferArgs> args;
  args->client = client_.get();
  args->data = literal.bytes().data();
  args->type = type;
  args->dims = shape.dimensions().data();
  args->num_dims = shape.rank();
  args->host_buffer_semantics = HostBufferSemantics::kImmutableOnlyDuringCall;
  args->device = device;
  HLOSCOPE_TRY(plugin_->Call(args));
  OwnedBuffer buffer(plugin_, args->buffer);
  HLOSCOPE_TRY(plugin_->Await(args->done_with_host_buffer));
  return buffer;
}

// An execution that fails on one device says so in that device's event.
Result<std::vector<std::vector<OwnedBuffer>>> ClientHandle::Execute(
    const LoadedProgram& program, std::span<const std::vector<OwnedBuffer>> arguments) const {
  const size_t devices = program.devices.size();
  const size_t count = arguments.empty() ? 0 : arguments[0].size();
  std::vector<std::vector<Buffer*>> in(devices), out(devices);
  std::vector<Buffer* const*> in_lists;
  std::vector<Buffer**> out_lists;
  for (size_t d = 0; d < devices; ++d) {
    for (const OwnedBuffer& buffer : arguments[d]) in[d].push_back(buffer.get());
    in[d].resize(count + 1);  // never an empty array
    out[d].resize(program.output_count + 1);
    in_lists.push_back(in[d].data());
    out_lists.push_back(out[d].data());
  }
  std::vector<int64_t> kept(count);
  std::iota(kept.begin(), kept.end(), 0);
  std::vector<Event*> events(devices);
  Block<ExecuteOptions> options;
  options->non_donatable_input_indices = kept.data();
  options->num_non_donatable_input_indices = count;
  Block<LoadedExecutableExecuteArgs> execute;
  execute->executable = program.loaded.get();
  execute->options = options.get();
  execute->argument_lists = in_lists.data();
  execute->num_devices = devices;
  execute->num_args = count;
  execute->output_lists = out_lists.data();
  execute->device_complete_events = events.data();
  HLOSCOPE_TRY(plugin_->Call(execute, options));
  std::vector<std::vector<OwnedBuffer>> results(devices);
  for (size_t d = 0; d < devices; ++d) {
    for (size_t i = 0; i < program.output_count; ++i) results[d].emplace_back(plugin_, out[d][i]);
  }
  Status failed;
  for (Event* event : events) {
    Status done = plugin_->Await(event);
    if (!done.has_value() && failed.has_value()) failed = std::move(done);
  }
  HLOSCOPE_TRY(std::move(failed));
  for (size_t d = 0; d < devices; ++d) {
    for (const OwnedBuffer& buffer : results[d]) {
      Block<BufferReadyEventArgs> ready;
      ready->buffer = buffer.get();
      HLOSCOPE_TRY(plugin_->Call(ready));
      HLOSCOPE_TRY(plugin_->Await(ready->event));
    }
  }
  return results;
}

Result<Literal> ClientHandle::Take(Buffer* buffer, const Shape& shape) const {
  Block<BufferElementTypeArgs> type;
  type->buffer = buffer;
  HLOSCOPE_TRY(plugin_->Call(type));
  Block<BufferDimensionsArgs> dims;
  dims->buffer = buffer;
  HLOSCOPE_TRY(plugin_->Call(dims));
  const ElementType element = ElementTypeOfBuffer(type->type);
  const Shape own = Shape::Array(element, {dims->dims, dims->dims + dims->num_dims});
  const auto size = own.ByteSize();
  if (element != shape.element_type() || own.rank() != shape.rank() || !size) {
    return InternalError(fmt::format("the plugin returns {}, the module declares {}",
                                     hlo::ToString(own, false), hlo::ToString(shape, false)));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(*size));
  HostLayout host(own.rank());
  Block<BufferToHostBufferArgs> copy;
  copy->src = buffer;
  copy->host_layout = host.layout.get();
  copy->dst = bytes.data();
  copy->dst_size = bytes.size();
  std::byte nothing{};
  if (bytes.empty()) copy->dst = &nothing;
  HLOSCOPE_TRY(plugin_->Call(copy, host.layout));
  HLOSCOPE_TRY(plugin_->Await(copy->event));
  NarrowElements(element, bytes);
  return Literal::Dense(own, std::move(bytes));
}

Result<std::string> ClientHandle::OptimizedProgram(const LoadedProgram& loaded) const {
  Block<Program> program;
  Block<ExecutableOptimizedProgramArgs> args;
  args->executable = loaded.executable.get();
  args->program = program.get();
  HLOSCOPE_TRY(plugin_->Call(args, program));
  std::string code(program->code_size, '\0');
  program->code = code.data();
  HLOSCOPE_TRY(plugin_->Call(args, program));
  return code;
}

}  // namespace hloscope::replay::pjrt
