// CompilationCache: what our compiler made of a module, kept on disk for the next process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/disk_cache.h"
#include "core/compile/compile.h"
#include "core/compile/kernel_code.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// What runs a module.
struct CachedCompilation {
  compile::Compilation compilation;  // module, kernels, plan and new ids
  std::string kernels;               // what Backend::Compile made of them
};

// The place of one module in the cache.
class CompilationCache {
 public:
  // `target`: which processor and build of code generation, in its words; empty: nothing is kept.
  // A module that was given differently, compiled otherwise, by another build of this program, or
  // for another processor has another place.
  CompilationCache(const hlo::Module& module, const compile::CompileOptions& how,
                   const std::string& target, const RunOptions& options);

  // Nothing where there is none that is whole.
  std::optional<CachedCompilation> Load() const;
  // `kernels` is the image of the library.
  void Store(const compile::Compilation& compilation, const std::string& kernels) const;

 private:
  std::optional<DiskCache> files_;
  std::string name_;
  DiskCache::Words stamp_ = {};
  size_t instructions_;
};

}  // namespace hloscope::replay
