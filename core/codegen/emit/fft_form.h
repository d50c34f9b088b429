// FftForm: a Fourier transform of HLO as calls of the runtime's.
#pragma once

#include "core/hlo/module.h"
#include "core/linking/runtime/fft.h"

namespace hloscope::codegen {

struct FftForm {
  HloscopeFft fft = {};
  int64_t arrays = 1;                   // that lie one behind the other
  int64_t per_call = 1;                 // so many of them in one call of the runtime
  int64_t in_bytes = 0, out_bytes = 0;  // of one of them
};

FftForm FftFormOf(const hlo::Module& module, hlo::InstructionId fft);

}  // namespace hloscope::codegen
