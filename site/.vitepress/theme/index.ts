// The theme that VitePress has, with the fonts of the system: no font is loaded.
import theme from 'vitepress/theme-without-fonts';
import './style.css';

export default theme;
