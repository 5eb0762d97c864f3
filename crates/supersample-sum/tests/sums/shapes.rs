//! The formulas of the kernels: their gradients and diagonals.

use crate::kernels;

#[test]
fn gradients_agree_with_central_differences() {
    let (x, y) = ([0.3, -0.2, 0.9, 0.2, 0.7, -0.5], [0.1, 0.4, 0.5, 0.3, -0.1, 0.6]);
    for (name, kernel) in kernels() {
        let mut gradient = [10.0; 6];
        let value = kernel.add_gradient(&x, &y, -2.0, &mut gradient);
        assert_eq!(value, kernel.value(&x, &y));
        for i in 0..6 {
            let h = 1e-5;
            let (mut up, mut down) = (x, x);
            up[i] += h;
            down[i] -= h;
            let difference = (kernel.value(&up, &y) - kernel.value(&down, &y)) / (2.0 * h);
            let got = (gradient[i] - 10.0) / -2.0;
            assert!((got - difference).abs() < 1e-8, "{name} {i}: {got} {difference}");
        }
    }
}

#[test]
fn at_its_own_point_a_kernel_is_its_diagonal_and_its_gradient_finite() {
    let x = [0.3, -0.2, 0.5, 0.1, 0.9, -0.4];
    for (name, kernel) in kernels() {
        let mut gradient = [0.0; 6];
        assert_eq!(kernel.add_gradient(&x, &x, 1.0, &mut gradient), kernel.diagonal(&x), "{name}");
        if let Some(constant) = kernel.constant_diagonal() {
            assert_eq!((kernel.value(&x, &x), gradient), (constant, [0.0; 6]), "{name}");
        }
    }
}
