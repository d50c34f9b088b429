// Keras 3: TensorFlowTrainer.make_*_function puts jit_compile on the tf.function of a step. Why it
// does not is decided as Trainer.compile and Trainer._resolve_auto_jit_compile do.
#include "core/debug/record/keras_hook.h"

namespace hloscope::debug {
namespace {

constexpr const char* kKerasHook =
    R"(# Written by `hloscope record`: names the Keras models whose steps are not compiled by jit_compile.
import functools, importlib, inspect, os, sys, weakref


def keras(module, path):
    if module.config.backend() != 'tensorflow':
        return
    trainer = importlib.import_module('keras.src.backend.tensorflow.trainer').TensorFlowTrainer
    base = importlib.import_module('keras.src.trainers.trainer').Trainer
    tensorflow = importlib.import_module('tensorflow')
    libraries = tuple(os.path.dirname(os.path.abspath(one.__file__)) + os.sep for one in (module, tensorflow))
    asked = weakref.WeakKeyDictionary()  # (jit_compile, place) of compile(); None: not known
    told = set()

    def place():
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            full, here = os.path.abspath(name), os.getcwd() + os.sep
            if name != __file__ and not name.startswith('<') and not full.startswith(libraries):
                return '%s:%d' % (full[len(here):] if full.startswith(here) else name, frame.f_lineno)
            frame = frame.f_back
        return ''

    def reason(model, wanted):
        if model.run_eagerly:
            return 'eager'
        if wanted is False:
            return 'off'
        if wanted == 'auto':
            if all(one.device_type == 'CPU' for one in tensorflow.config.list_physical_devices()):
                return 'cpu'
            if model._distribute_strategy:
                return 'strategy'
        if wanted is not None:
            for layer in model._flatten_layers():
                if not layer.supports_jit:
                    return 'layer ' + layer.name
            if tensorflow.config.experimental.is_op_determinism_enabled():
                return 'determinism'
        return 'unknown'

    def tell(model):
        if model not in asked:  # compile() was not called: before the first look at jit_compile it is None, as for "auto"
            asked[model] = 'auto' if getattr(model, '_jit_compile', '') is None else None, ''
        if model.jit_compile and not model.run_eagerly:
            return
        wanted, where = asked[model]
        parts = model.name[-200:], reason(model, wanted)[:300], (where or place())[-400:]
        line = '\t'.join(' '.join(part.split()) for part in parts)
        if line in told:
            return
        told.add(line)
        with open(path, 'a') as file:
            file.write(line + '\n')

    compile_ = base.compile
    signature = inspect.signature(compile_)

    @functools.wraps(compile_)
    def compile(self, *args, **kwargs):
        result = compile_(self, *args, **kwargs)
        try:
            asked.pop(self, None)
            wanted = signature.bind(self, *args, **kwargs).arguments.get('jit_compile', 'auto')
            asked[self] = 'auto' if wanted is None else wanted, place()
        except Exception:
            pass  # what it said is not known
        return result

    base.compile = compile

    def watch(name):
        make = getattr(trainer, name)

        @functools.wraps(make)
        def watched(self, *args, **kwargs):
            try:
                tell(self)
            except Exception:
                pass  # the recording is over, or a Keras that keeps it elsewhere
            return make(self, *args, **kwargs)

        setattr(trainer, name, watched)

    for name in ('make_train_function', 'make_test_function', 'make_predict_function'):
        watch(name)
)";

}  // namespace

const char* KerasHook() { return kKerasHook; }

}  // namespace hloscope::debug
