#!/usr/bin/env python3
"""Mistakes that JAX refuses, each with the program that its explanation leads to: jax_mistakes.py [--write FOLDER].

Checks that every first program fails and every second one runs; --write writes the errors as jax_NAME.txt. Needs JAX and jaxlib 0.10.2, CPU.
"""
import linecache
import os
import sys
import traceback

import jax

MISTAKES = {
    'key_reuse': (
        'import jax\n'
        'with jax.debug_key_reuse(True):\n'
        '  k=jax.random.key(0)\n'
        '  jax.random.normal(k); jax.random.normal(k)\n',
        'import jax\n'
        'with jax.debug_key_reuse(True):\n'
        '  k=jax.random.key(0)\n'
        '  a,b=jax.random.split(k)\n'
        '  jax.random.normal(a); jax.random.normal(b)\n',
    ),
    'random_batch': (
        'import jax\n'
        'jax.random.normal(jax.random.split(jax.random.key(0)),(3,))\n',
        'import jax\n'
        'jax.vmap(lambda k:jax.random.normal(k,(3,)))(jax.random.split(jax.random.key(0)))\n',
    ),
    'key_arith': (
        'import jax\n'
        'jax.random.key(0)+1\n',
        'import jax\n'
        'jax.random.fold_in(jax.random.key(0),1)\n',
    ),
    'custom_vjp_bwd': (
        'import jax\n'
        '@jax.custom_vjp\n'
        'def f(x,y): return x*y\n'
        'f.defvjp(lambda x,y:(x*y,(x,y)), lambda r,g:(g*r[1],))\n'
        'jax.grad(f)(1.,2.)\n',
        'import jax\n'
        '@jax.custom_vjp\n'
        'def f(x,y): return x*y\n'
        'f.defvjp(lambda x,y:(x*y,(x,y)), lambda r,g:(g*r[1],g*r[0]))\n'
        'jax.grad(f)(1.,2.)\n',
    ),
    'custom_vjp_shape': (
        'import jax,jax.numpy as jnp\n'
        '@jax.custom_vjp\n'
        'def f(x): return x.sum()\n'
        'f.defvjp(lambda x:(x.sum(),x), lambda r,g:(g,))\n'
        'jax.grad(f)(jnp.ones(3))\n',
        'import jax,jax.numpy as jnp\n'
        '@jax.custom_vjp\n'
        'def f(x): return x.sum()\n'
        'f.defvjp(lambda x:(x.sum(),x), lambda r,g:(jnp.broadcast_to(g,r.shape),))\n'
        'jax.grad(f)(jnp.ones(3))\n',
    ),
    'custom_vjp_fwd': (
        'import jax\n'
        '@jax.custom_vjp\n'
        'def f(x): return x\n'
        'f.defvjp(lambda x:x, lambda r,g:(g,))\n'
        'jax.grad(f)(1.)\n',
        'import jax\n'
        '@jax.custom_vjp\n'
        'def f(x): return x\n'
        'f.defvjp(lambda x:(x,None), lambda r,g:(g,))\n'
        'jax.grad(f)(1.)\n',
    ),
    'custom_jvp_struct': (
        'import jax\n'
        '@jax.custom_jvp\n'
        'def f(x): return x\n'
        '@f.defjvp\n'
        'def _(p,t): return p[0],(t[0],t[0])\n'
        'jax.grad(f)(1.)\n',
        'import jax\n'
        '@jax.custom_jvp\n'
        'def f(x): return x\n'
        '@f.defjvp\n'
        'def _(p,t): return p[0],t[0]\n'
        'jax.grad(f)(1.)\n',
    ),
    'custom_jvp_dtype': (
        'import jax,jax.numpy as jnp\n'
        '@jax.custom_jvp\n'
        'def f(x): return x\n'
        '@f.defjvp\n'
        'def _(p,t): return p[0],t[0].astype(jnp.bfloat16)\n'
        'jax.grad(f)(1.)\n',
        'import jax,jax.numpy as jnp\n'
        '@jax.custom_jvp\n'
        'def f(x): return x\n'
        '@f.defjvp\n'
        'def _(p,t): return p[0],t[0].astype(p[0].dtype)\n'
        'jax.grad(f)(1.)\n',
    ),
    'while_grad': (
        'import jax\n'
        'jax.grad(lambda x:jax.lax.while_loop(lambda i:i<9.,lambda i:i*2,x))(1.)\n',
        'import jax\n'
        'jax.grad(lambda x:jax.lax.fori_loop(0,4,lambda _,i:i*2,x))(1.)\n',
    ),
    'grad_complex': (
        'import jax\n'
        'jax.grad(lambda x:x*1j)(3.)\n',
        'import jax\n'
        'jax.grad(lambda x:(x*1j).imag)(3.)\n',
    ),
    'grad_argnums': (
        'import jax\n'
        'jax.grad(lambda x:x,argnums=2)(3.)\n',
        'import jax\n'
        'jax.grad(lambda x:x,argnums=0)(3.)\n',
    ),
    'grad_aux': (
        'import jax\n'
        'jax.grad(lambda x:x,has_aux=True)(3.)\n',
        'import jax\n'
        'jax.grad(lambda x:(x,x),has_aux=True)(3.)\n',
    ),
    'grad_tuple': (
        'import jax\n'
        'jax.grad(lambda x:(x,x))(3.)\n',
        'import jax\n'
        'jax.grad(lambda x:(x,x),has_aux=True)(3.)\n',
    ),
    'jvp_dtype': (
        'import jax,jax.numpy as jnp\n'
        'jax.jvp(jnp.sin,(1.,),(1,))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.jvp(jnp.sin,(1.,),(1.,))\n',
    ),
    'jvp_tree': (
        'import jax,jax.numpy as jnp\n'
        'jax.jvp(jnp.sin,(1.,),(1.,1.))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.jvp(jnp.sin,(1.,),(1.,))\n',
    ),
    'vjp_ct': (
        'import jax,jax.numpy as jnp\n'
        '_,f=jax.vjp(jnp.sin,jnp.ones(3))\n'
        'f(jnp.ones(4))\n',
        'import jax,jax.numpy as jnp\n'
        '_,f=jax.vjp(jnp.sin,jnp.ones(3))\n'
        'f(jnp.ones(3))\n',
    ),
    'dot_batch': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dot_general(jnp.ones((2,3,4)),jnp.ones((3,4,5)),(((2,),(1,)),((0,),(0,))))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dot_general(jnp.ones((2,3,4)),jnp.ones((2,4,5)),(((2,),(1,)),((0,),(0,))))\n',
    ),
    'precision_name': (
        'import jax,jax.numpy as jnp\n'
        "jax.lax.dot(jnp.ones((4,4)),jnp.ones((4,4)),precision='f32')\n",
        'import jax,jax.numpy as jnp\n'
        "jax.lax.dot(jnp.ones((4,4)),jnp.ones((4,4)),precision='F32_F32_F32')\n",
    ),
    'conv_channels': (
        'import jax,jax.numpy as jnp\n'
        "jax.lax.conv(jnp.ones((1,3,8,8)),jnp.ones((4,5,3,3)),(1,1),'SAME')\n",
        'import jax,jax.numpy as jnp\n'
        "jax.lax.conv(jnp.ones((1,3,8,8)),jnp.ones((4,3,3,3)),(1,1),'SAME')\n",
    ),
    'conv_dtype': (
        'import jax,jax.numpy as jnp\n'
        "jax.lax.conv(jnp.ones((1,3,8,8)),jnp.ones((4,3,3,3),jnp.bfloat16),(1,1),'SAME')\n",
        'import jax,jax.numpy as jnp\n'
        "jax.lax.conv(jnp.ones((1,3,8,8)),jnp.ones((4,3,3,3),jnp.float32),(1,1),'SAME')\n",
    ),
    'lax_add_dtype': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.add(jnp.ones(3),jnp.ones(3,jnp.int32))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.add(jnp.ones(3),jnp.ones(3,jnp.int32).astype(jnp.float32))\n',
    ),
    'strict_promotion': (
        'import jax,jax.numpy as jnp\n'
        "with jax.numpy_dtype_promotion('strict'):\n"
        '  jnp.ones(3)+jnp.ones(3,jnp.int32)\n',
        'import jax,jax.numpy as jnp\n'
        "with jax.numpy_dtype_promotion('strict'):\n"
        '  jnp.ones(3)+jnp.ones(3,jnp.int32).astype(jnp.float32)\n',
    ),
    'switch_float': (
        'import jax\n'
        'jax.lax.switch(1.,[lambda x:x,lambda x:-x],1.)\n',
        'import jax\n'
        'jax.lax.switch(1,[lambda x:x,lambda x:-x],1.)\n',
    ),
    'rank_promotion': (
        'import jax,jax.numpy as jnp\n'
        "with jax.numpy_rank_promotion('raise'):\n"
        '  jnp.ones((2,3))+jnp.ones(3)\n',
        'import jax,jax.numpy as jnp\n'
        "with jax.numpy_rank_promotion('raise'):\n"
        '  jnp.ones((2,3))+jnp.ones(3)[None]\n',
    ),
    'concat_rank': (
        'import jax.numpy as jnp\n'
        'jnp.concatenate([jnp.ones((2,3)),jnp.ones((2,))])\n',
        'import jax.numpy as jnp\n'
        'jnp.concatenate([jnp.ones((2,3)),jnp.ones((1,3))])\n',
    ),
    'stack': (
        'import jax.numpy as jnp\n'
        'jnp.stack([jnp.ones(2),jnp.ones(3)])\n',
        'import jax.numpy as jnp\n'
        'jnp.stack([jnp.ones(3),jnp.ones(3)])\n',
    ),
    'dynamic_slice': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_slice(jnp.ones(4),(0,),(5,))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_slice(jnp.ones(4),(0,),(4,))\n',
    ),
    'dynamic_slice_n': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_slice(jnp.ones((4,4)),(0,),(2,2))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_slice(jnp.ones((4,4)),(0,0),(2,2))\n',
    ),
    'dus': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_update_slice(jnp.ones(4),jnp.ones(5),(0,))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.dynamic_update_slice(jnp.ones(4),jnp.ones(3),(0,))\n',
    ),
    'broadcast_to': (
        'import jax.numpy as jnp\n'
        'jnp.broadcast_to(jnp.ones(3),(2,4))\n',
        'import jax.numpy as jnp\n'
        'jnp.broadcast_to(jnp.ones(4),(2,4))\n',
    ),
    'scatter': (
        'import jax.numpy as jnp\n'
        'jnp.ones(4).at[jnp.array([0,1])].set(jnp.ones(3))\n',
        'import jax.numpy as jnp\n'
        'jnp.ones(4).at[jnp.array([0,1])].set(jnp.ones(2))\n',
    ),
    'transpose': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.transpose(jnp.ones((2,3)),(0,0))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.transpose(jnp.ones((2,3)),(1,0))\n',
    ),
    'index_many': (
        'import jax.numpy as jnp\n'
        'jnp.ones(4)[0,1]\n',
        'import jax.numpy as jnp\n'
        'jnp.ones((4,4))[0,1]\n',
    ),
    'scan_lengths': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:(c,x[0]),0.,(jnp.ones(3),jnp.ones(4)))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:(c,x[0]),0.,(jnp.ones(3),jnp.ones(3)))\n',
    ),
    'scan_no_length': (
        'import jax\n'
        'jax.lax.scan(lambda c,x:(c,c),0.,None)\n',
        'import jax\n'
        'jax.lax.scan(lambda c,x:(c,c),0.,None,length=3)\n',
    ),
    'scan_pair': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:c+x,0.,jnp.ones(3))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:(c+x,None),0.,jnp.ones(3))\n',
    ),
    'while_cond': (
        'import jax\n'
        'jax.lax.while_loop(lambda i:i,lambda i:i-1,3)\n',
        'import jax\n'
        'jax.lax.while_loop(lambda i:i>0,lambda i:i-1,3)\n',
    ),
    'cond_pred': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.cond(jnp.ones(2)>0,lambda x:x,lambda x:x,1.)\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.cond((jnp.ones(2)>0).all(),lambda x:x,lambda x:x,1.)\n',
    ),
    'vmap_in_axes': (
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x,y:x+y,in_axes=(0,))(jnp.ones(3),jnp.ones(3))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x,y:x+y,in_axes=(0,0))(jnp.ones(3),jnp.ones(3))\n',
    ),
    'vmap_rank0': (
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x,y:x+y)(jnp.ones(3),1.)\n',
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x,y:x+y,in_axes=(0,None))(jnp.ones(3),1.)\n',
    ),
    'vmap_all_none': (
        'import jax\n'
        'jax.vmap(lambda x:x,in_axes=None)(1.)\n',
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x:x,in_axes=0)(jnp.ones(3))\n',
    ),
    'vmap_out_axes': (
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x:x,out_axes=None)(jnp.ones(3))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.vmap(lambda x:x,out_axes=0)(jnp.ones(3))\n',
    ),
    'check_leak': (
        'import jax\n'
        'a=[]\n'
        'with jax.checking_leaks():\n'
        '  def f(x): a.append(x); return x\n'
        '  jax.jit(f)(1.)\n',
        'import jax\n'
        'with jax.checking_leaks():\n'
        '  def f(x): return x\n'
        '  jax.jit(f)(1.)\n',
    ),
    'static_range': (
        'import jax\n'
        'jax.jit(lambda x:x,static_argnums=3)(1.)\n',
        'import jax\n'
        'jax.jit(lambda x:x,static_argnums=0)(1.)\n',
    ),
    'static_name': (
        'import jax\n'
        "jax.jit(lambda x:x,static_argnames='y')(1.)\n",
        'import jax\n'
        "jax.jit(lambda x:x,static_argnames='x')(1.)\n",
    ),
    'bad_result': (
        'import jax\n'
        "jax.jit(lambda x:'a')(1.)\n",
        'import jax\n'
        'jax.jit(lambda x:x)(1.)\n',
    ),
    'donate_twice': (
        'import jax,jax.numpy as jnp\n'
        'x=jnp.ones(3)\n'
        'jax.jit(lambda x,y:(x+1,y+1),donate_argnums=(0,1))(x,x)\n',
        'import jax,jax.numpy as jnp\n'
        'x=jnp.ones(3)\n'
        'jax.jit(lambda x,y:(x+1,y+1),donate_argnums=(0,1))(x,x.copy())\n',
    ),
    'transfer_guard': (
        'import jax,jax.numpy as jnp,numpy as np\n'
        'x=jnp.ones(3)\n'
        "with jax.transfer_guard('disallow'):\n"
        '  x+np.ones(3)\n',
        'import jax,jax.numpy as jnp,numpy as np\n'
        'x=jnp.ones(3)\n'
        "with jax.transfer_guard('disallow'):\n"
        '  x+jax.device_put(np.ones(3,np.float32))\n',
    ),
    'checkify_jit': (
        'import jax\n'
        'from jax.experimental import checkify\n'
        "jax.jit(lambda x:checkify.check(x>0,'p'))(-1.)\n",
        'import jax\n'
        'from jax.experimental import checkify\n'
        "jax.jit(checkify.checkify(lambda x:checkify.check(x>0,'p')))(1.)\n",
    ),
    'checkify_oob': (
        'import jax,jax.numpy as jnp\n'
        'from jax.experimental import checkify\n'
        'e,_=jax.jit(checkify.checkify(lambda x,i:x[i],errors=checkify.index_checks))(jnp.ones(3),5)\n'
        'e.throw()\n',
        'import jax,jax.numpy as jnp\n'
        'from jax.experimental import checkify\n'
        'e,_=jax.jit(checkify.checkify(lambda x,i:x[i],errors=checkify.index_checks))(jnp.ones(3),2)\n'
        'e.throw()\n',
    ),
    'tree_map': (
        'import jax\n'
        "jax.tree.map(lambda a,b:a,{'x':1},{'y':1})\n",
        'import jax\n'
        "jax.tree.map(lambda a,b:a,{'x':1},{'x':1})\n",
    ),
    'tree_map_none': (
        'import jax\n'
        'jax.tree.map(lambda a,b:a,(1,2),(1,2,3))\n',
        'import jax\n'
        'jax.tree.map(lambda a,b:a,(1,2,3),(1,2,3))\n',
    ),
    'device_put_shard': (
        'import jax,jax.numpy as jnp,numpy as np\n'
        'from jax.sharding import *\n'
        "m=Mesh(np.array(jax.devices()[:1]),('x',))\n"
        "jax.device_put(jnp.ones(3),NamedSharding(m,PartitionSpec('x','y')))\n",
        'import jax,jax.numpy as jnp,numpy as np\n'
        'from jax.sharding import *\n'
        "m=Mesh(np.array(jax.devices()[:1]),('x',))\n"
        "jax.device_put(jnp.ones(3),NamedSharding(m,PartitionSpec('x')))\n",
    ),
    'device_put_rank': (
        'import jax,jax.numpy as jnp,numpy as np\n'
        'from jax.sharding import *\n'
        "m=Mesh(np.array(jax.devices()[:1]),('x',))\n"
        "jax.device_put(jnp.ones(3),NamedSharding(m,PartitionSpec(None,'x')))\n",
        'import jax,jax.numpy as jnp,numpy as np\n'
        'from jax.sharding import *\n'
        "m=Mesh(np.array(jax.devices()[:1]),('x',))\n"
        "jax.device_put(jnp.ones(3),NamedSharding(m,PartitionSpec('x')))\n",
    ),
    'pmap_devices': (
        'import jax,jax.numpy as jnp\n'
        'jax.pmap(lambda x:x)(jnp.ones((64,2)))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.pmap(lambda x:x)(jnp.ones((jax.local_device_count(),2)))\n',
    ),
    'pmap_sizes': (
        'import jax,jax.numpy as jnp\n'
        'jax.pmap(lambda x,y:x+y)(jnp.ones((1,2)),jnp.ones((2,2)))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.pmap(lambda x,y:x+y)(jnp.ones((1,2)),jnp.ones((1,2)))\n',
    ),
    'scan_carry_dtype': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:(c+x,x),jnp.int32(0),jnp.ones(3))\n',
        'import jax,jax.numpy as jnp\n'
        'jax.lax.scan(lambda c,x:(c+x,x),0.,jnp.ones(3))\n',
    ),
    'while_carry': (
        'import jax,jax.numpy as jnp\n'
        'jax.lax.while_loop(lambda i:i<3,lambda i:i+1.,jnp.int32(0))\n',
        'import jax\n'
        'jax.lax.while_loop(lambda i:i<3,lambda i:i+1.,0.)\n',
    ),
    'callback_shape': (
        'import jax,jax.numpy as jnp,numpy as np\n'
        'jax.jit(lambda x:jax.pure_callback(lambda v:np.ones(4,np.float32),jax.ShapeDtypeStruct((3,),jnp.float32),x))(1.).block_until_ready()\n',
        'import jax,jax.numpy as jnp,numpy as np\n'
        'jax.jit(lambda x:jax.pure_callback(lambda v:np.ones(3,np.float32),jax.ShapeDtypeStruct((3,),jnp.float32),x))(1.).block_until_ready()\n',
    ),
    'concrete_float': (
        'import jax,math\n'
        'jax.jit(lambda x: math.sin(x))(3.)\n',
        'import jax,jax.numpy as jnp\n'
        'jax.jit(lambda x: jnp.sin(x))(3.)\n',
    ),
    'remat_bad': (
        'import jax\n'
        'jax.checkpoint(lambda x:x if x>0 else -x)(1.)\n',
        'import jax,jax.numpy as jnp\n'
        'jax.checkpoint(lambda x:jnp.abs(x))(1.)\n',
    ),
    'psum_unbound': (
        'import jax\n'
        "jax.lax.psum(1.,'i')\n",
        'import jax,jax.numpy as jnp\n'
        "jax.vmap(lambda x:jax.lax.psum(x,'i'),axis_name='i')(jnp.ones(3))\n",
    ),
    'axis': (
        'import jax.numpy as jnp\n'
        'jnp.sum(jnp.ones((2,3)),axis=2)\n',
        'import jax.numpy as jnp\n'
        'jnp.sum(jnp.ones((2,3)),axis=1)\n',
    ),
}


def without_this(error):
    """The traceback without the frames of this file."""
    seen = error
    while seen is not None:
        while seen.__traceback__ is not None and seen.__traceback__.tb_frame.f_code.co_filename == __file__:
            seen.__traceback__ = seen.__traceback__.tb_next
        seen = seen.__cause__ or seen.__context__
    text = ''.join(traceback.format_exception(error))
    return text.replace(os.path.dirname(os.path.dirname(jax.__file__)), '/home/me/env/lib/python3.11/site-packages')


def run(program):
    """In a process of its own: the text of its error, or None."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        linecache.cache['/home/me/train.py'] = (len(program), None, program.splitlines(True), '/home/me/train.py')
        try:
            exec(compile(program, '/home/me/train.py', 'exec'), {'__name__': '__main__'})  # pylint: disable=exec-used
            text = ''
        except BaseException as error:  # pylint: disable=broad-except
            text = without_this(error)
        with os.fdopen(writing, 'w') as out:
            out.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text or None


def main():
    folder = sys.argv[2] if sys.argv[1:2] == ['--write'] else None
    wrong = []
    for name, (mistake, mended) in MISTAKES.items():
        text = run(mistake)
        if text is None:
            wrong.append(f'{name}: no error')
        elif folder is not None:
            with open(os.path.join(folder, f'jax_{name}.txt'), 'w', encoding='utf-8') as out:
                out.write(text)
        failed = run(mended)
        if failed is not None:
            wrong.append(f'{name}: the mended program fails: {failed.splitlines()[-1]}')
    print('\n'.join(wrong) or f'{len(MISTAKES)} mistakes and their fixes')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
