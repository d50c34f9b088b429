// GiveConstants: values for constants whose elements a module's file leaves out, by their names.
#pragma once

#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::dump {

struct GivenConstants {
  std::shared_ptr<const hlo::Module> module;
  std::string note;  // how many were taken, how many are elided still, and arrays that are of none
};

// The arrays of an .npz go to the elided constants of their names (`constant.5`, or `constant_5`
// for writers of Python names); those of which there is none stay elided. Input errors: no .npz, an
// array of another type or shape than its constant, of a constant that has its values in the file,
// and an .npz of which no array is of any constant.
Result<GivenConstants> GiveConstants(const std::shared_ptr<const hlo::Module>& module,
                                     const std::string& path, const Limits& limits);

}  // namespace hloscope::dump
