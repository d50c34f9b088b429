// GiveConstants: values for constants whose elements a module's file leaves out, by their names.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

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

struct FittingConstants {
  std::shared_ptr<const hlo::Module> module;
  size_t taken = 0;                  // how many constants have their values from the file
  std::vector<std::string> misfits;  // what is wrong with an array, in the words of the errors
};

// The same for a stage of a compilation, which may have changed some of the constants: each array
// by itself. Those that do not fit are left out, and an array that is of no constant is no fault.
// Input error: no .npz.
Result<FittingConstants> GiveFittingConstants(const std::shared_ptr<const hlo::Module>& module,
                                              const std::string& path, const Limits& limits);

struct LeftOutConstants {
  std::shared_ptr<const hlo::Module> module;
  size_t count = 0;  // of constants that were elided
};

// The opposite: every constant is elided that an array of the file is of. Input error: no .npz.
Result<LeftOutConstants> LeaveOutConstants(const std::shared_ptr<const hlo::Module>& module,
                                           const std::string& path, const Limits& limits);

}  // namespace hloscope::dump
