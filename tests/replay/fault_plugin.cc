// A real plugin with a fault: every instruction of one opcode is compiled as another one.
// HLOSCOPE_FAULT_PLUGIN: the plugin. HLOSCOPE_FAULT: "tanh=sqrt", two opcodes of the same length,
// or "tanh=abort" to end the process where there is one. HLOSCOPE_FAULT_TURNS: a file that each
// process makes a byte longer; only every second one, the first first, has the fault.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/pjrt/c_api.h"

namespace {

using namespace hloscope::replay::pjrt;
using CompileFunction = PluginError* (*)(ClientCompileArgs*);

CompileFunction real_compile = nullptr;

// An opcode is field 2 of an instruction: tag, length, text.
std::string Field(std::string_view opcode) {
  return std::string("\x12") + static_cast<char>(opcode.size()) + std::string(opcode);
}

bool IsOurTurn() {
  const char* turns = std::getenv("HLOSCOPE_FAULT_TURNS");
  if (turns == nullptr) return true;
  const int file = open(turns, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool ours = write(file, "x", 1) == 1 && lseek(file, 0, SEEK_CUR) % 2 == 1;
  close(file);
  return ours;
}

PluginError* Compile(ClientCompileArgs* args) {
  static const bool ours = IsOurTurn();
  const char* fault = ours ? std::getenv("HLOSCOPE_FAULT") : nullptr;
  std::string code(args->program->code, args->program->code_size);
  if (fault != nullptr) {
    const std::string_view text = fault;
    const size_t equals = text.find('=');
    const std::string from = Field(text.substr(0, equals)), to = Field(text.substr(equals + 1));
    if (text.substr(equals + 1) == "abort" && code.find(from) != std::string::npos) std::abort();
    for (size_t at = code.find(from); at != std::string::npos; at = code.find(from, at)) {
      code.replace(at, from.size(), to);
    }
  }
  Program program = *args->program;
  program.code = code.data();
  ClientCompileArgs changed = *args;
  changed.program = &program;
  PluginError* error = real_compile(&changed);
  args->executable = changed.executable;
  return error;
}

}  // namespace

extern "C" const void* GetPjrtApi();
const void* GetPjrtApi() {
  static std::vector<char> table;
  if (!table.empty()) return table.data();
  void* library = dlopen(std::getenv("HLOSCOPE_FAULT_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto real = reinterpret_cast<const void* (*)()>(dlsym(library, "GetPjrtApi"))();
  const size_t size = static_cast<const ApiHead*>(real)->header.struct_size;
  table.resize(size);
  std::memcpy(table.data(), real, size);
  char* const compile = table.data() + static_cast<size_t>(Function::kClient_Compile);
  std::memcpy(static_cast<void*>(&real_compile), compile, sizeof(real_compile));
  const CompileFunction own = &Compile;
  std::memcpy(compile, static_cast<const void*>(&own), sizeof(own));
  return table.data();
}
