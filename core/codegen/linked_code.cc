// A loader: one piece of memory for each object, code that cannot be written and data that cannot
// be run.
#include "core/codegen/linked_code.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/system_error.h"
#include "core/codegen/math/symbols.h"

namespace hloscope::codegen {
namespace {

using Addresses = std::unordered_map<std::string_view, void*>;

const Addresses& Table() {
  static const Addresses table = [] {
    Addresses out;
    for (const Symbol& symbol : Symbols()) out.emplace(symbol.name, symbol.address);
    return out;
  }();
  return table;
}

// Symbols that an object asks for: those of the table. None of the process are looked at.
class TableResolver : public llvm::JITSymbolResolver {
 public:
  void lookup(const LookupSet& names, OnResolvedFunction on_resolved) override {
    LookupResult out;
    for (const llvm::StringRef name : names) {
      const auto found = Table().find(std::string_view(name));
      if (found == Table().end()) {
        return on_resolved(llvm::createStringError("no symbol " + name + " in the table"));
      }
      out[name] = {reinterpret_cast<uint64_t>(found->second), llvm::JITSymbolFlags::Exported};
    }
    on_resolved(std::move(out));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet& names) override { return names; }
};

}  // namespace

// The memory of one object: code, constants and data, each from a page of its own on, so that all
// of it is within reach of 32-bit distances.
class LinkedCode::Memory : public llvm::RuntimeDyld::MemoryManager {
 public:
  ~Memory() override {
    if (base_ != nullptr) munmap(base_, size_);
  }

  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code, llvm::Align, uintptr_t constants, llvm::Align,
                              uintptr_t data, llvm::Align) override {
    // LLVM leaves out of its count the addresses of functions that code calls.
    const uintptr_t sizes[] = {code, constants, data + sizeof(void*) * Symbols().size()};
    for (size_t i = 0; i < 3; ++i) {
      parts_[i] = {size_, size_, size_ + (sizes[i] + kPage - 1) / kPage * kPage};
      size_ = parts_[i].end;
    }
    if (size_ == 0) return;
    void* base = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base != MAP_FAILED) base_ = static_cast<uint8_t*>(base);
  }
  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned,
                               llvm::StringRef) override {
    return Take(parts_[0], size, alignment);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef,
                               bool is_constant) override {
    return Take(parts_[is_constant ? 1 : 2], size, alignment);
  }
  // No code of ours throws.
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}
  void deregisterEHFrames() override {}

  // True with a reason where it fails, as LLVM has it.
  bool finalizeMemory(std::string* reason) override {
    const bool done = Protect(parts_[0], PROT_READ | PROT_EXEC) && Protect(parts_[1], PROT_READ);
    if (!done && reason != nullptr) *reason = "the system refuses memory that can be run";
    return !done;
  }

 private:
  static constexpr uintptr_t kPage = 4096;
  struct Part {
    uintptr_t begin = 0, next = 0, end = 0;
  };

  // LLVM ends the process where it gets no memory, and so does this where too little was reserved.
  uint8_t* Take(Part& part, uintptr_t size, unsigned alignment) {
    const uintptr_t at = (part.next + alignment - 1) / alignment * alignment;
    if (base_ == nullptr || at + size > part.end) return nullptr;
    part.next = at + size;
    return base_ + at;
  }
  bool Protect(const Part& part, int how) {
    return part.begin == part.end || mprotect(base_ + part.begin, part.end - part.begin, how) == 0;
  }

  uint8_t* base_ = nullptr;
  uintptr_t size_ = 0;
  Part parts_[3];
};

class LinkedCode::Loaded {
 public:
  Memory memory;
  TableResolver resolver;
  llvm::RuntimeDyld linker{memory, resolver};
};

LinkedCode::LinkedCode() = default;
LinkedCode::~LinkedCode() = default;

Status LinkedCode::Add(llvm::MemoryBufferRef object) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file) return InternalError("LLVM: " + llvm::toString(file.takeError()));
  auto loaded = std::make_unique<Loaded>();
  loaded->linker.loadObject(**file);
  if (!loaded->linker.hasError()) loaded->linker.resolveRelocations();
  if (loaded->linker.hasError()) {
    return InternalError("LLVM: " + loaded->linker.getErrorString().str());
  }
  std::string reason;
  if (loaded->memory.finalizeMemory(&reason)) return SystemFailure("link: " + reason);
  objects_.push_back(std::move(loaded));
  return {};
}

Result<void*> LinkedCode::Find(const std::string& name) const {
  for (const auto& object : objects_) {
    if (const auto symbol = object->linker.getSymbol(name)) {
      return reinterpret_cast<void*>(symbol.getAddress());
    }
  }
  return InternalError("there is no code of " + name);
}

}  // namespace hloscope::codegen
