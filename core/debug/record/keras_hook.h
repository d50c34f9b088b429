// The part of the Python hook that names Keras's models whose steps no jit_compile compiles.
#pragma once

namespace hloscope::debug {

// The text of the module hloscope_keras: keras(module, path), to be called once Keras is imported,
// writes a line "MODEL<tab>REASON<tab>FILE:LINE" into the file for each model that trains,
// evaluates or predicts without jit_compile. REASON is a row of core/dump/errors/keras_reasons.def,
// followed by a blank and the name of a layer for "layer"; FILE:LINE is the call of compile(), or
// of fit() and the like where there is none.
const char* KerasHook();

}  // namespace hloscope::debug
