// The part of the Python hook that saves the arguments of compiled functions.
#pragma once

namespace hloscope::debug {

// The text of the module hloscope_inputs: a function for each framework by the name of its package,
// to be called once that is imported.
const char* InputsHook();

}  // namespace hloscope::debug
