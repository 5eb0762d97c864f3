//! Launches: the only place where kernels are called.

use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};

use crate::device::Device;
use crate::error::Result;

/// Threads of a block, for every kernel whose blocks do not wait for each other.
pub(crate) const THREADS: u32 = 256;

/// How many blocks of how many threads, and whether all must be on the device at once because they wait for each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) blocks: (u32, u32),
    pub(crate) threads: u32,
    pub(crate) together: bool,
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    Pointer(u64),
    Long(i64),
    Int(i32),
    Double(f64),
}

impl Arg {
    pub(crate) const NULL: Arg = Arg::Pointer(0);

    pub(crate) fn long(number: usize) -> Arg {
        Arg::Long(number as i64)
    }

    pub(crate) fn int(number: usize) -> Arg {
        Arg::Int(i32::try_from(number).expect("a number of tiles or coordinates"))
    }
}

impl Device {
    /// Where memory begins on the device, from element `first` on.
    pub(crate) fn at<T>(&self, memory: &CudaSlice<T>, first: usize) -> Arg {
        assert!(first <= memory.len());
        let (pointer, _) = memory.device_ptr(self.stream());
        Arg::Pointer(pointer + (first * size_of::<T>()) as u64)
    }

    /// Where memory begins, or nowhere.
    pub(crate) fn at_option<T>(&self, memory: Option<&CudaSlice<T>>) -> Arg {
        memory.map_or(Arg::NULL, |memory| self.at(memory, 0))
    }

    /// Blocks that give each of `len` elements a thread.
    pub(crate) fn blocks_for(len: usize) -> (u32, u32) {
        (len.div_ceil(THREADS as usize).max(1) as u32, 1)
    }

    /// Blocks that fill the device for a pass over `len` elements.
    pub(crate) fn blocks_for_pass(&self, len: usize) -> (u32, u32) {
        let (most, _) = Device::blocks_for(len);
        (most.min(self.multiprocessors() * 4), 1)
    }

    /// Blocks and threads that are all on the device at once, with as few points each as that allows.
    pub(crate) fn together_for(&self, len: usize) -> Grid {
        let threads = len.div_ceil(self.multiprocessors() as usize).next_multiple_of(32).clamp(128, 1024);
        let blocks = len.div_ceil(threads).clamp(1, self.multiprocessors() as usize);
        Grid { blocks: (blocks as u32, 1), threads: threads as u32, together: true }
    }

    /// Calls a kernel with arguments that must be those of its source, in number, type and what they point to.
    pub(crate) fn launch(
        &self,
        function: &CudaFunction,
        blocks: (u32, u32),
        shared: u32,
        args: &[Arg],
    ) -> Result<()> {
        self.launch_grid(function, Grid { blocks, threads: THREADS, together: false }, shared, args)
    }

    /// [`launch`](Self::launch) with a given number of threads in a block.
    #[expect(unsafe_code, reason = "the device cannot check what it is given")]
    pub(crate) fn launch_grid(
        &self,
        function: &CudaFunction,
        Grid { blocks: (x, y), threads, together }: Grid,
        shared: u32,
        args: &[Arg],
    ) -> Result<()> {
        let mut builder = self.stream().launch_builder(function);
        for arg in args {
            match arg {
                Arg::Pointer(pointer) => builder.arg(pointer),
                Arg::Long(number) => builder.arg(number),
                Arg::Int(number) => builder.arg(number),
                Arg::Double(number) => builder.arg(number),
            };
        }
        let config =
            LaunchConfig { grid_dim: (x, y, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared };
        // SAFETY: every caller is in this crate, next to the kernel's signature, and is checked by tests/device under
        // compute-sanitizer; memory is freed on the stream of the launch, so after it.
        unsafe { if together { builder.launch_cooperative(config) } else { builder.launch(config) } }?;
        Ok(())
    }
}
